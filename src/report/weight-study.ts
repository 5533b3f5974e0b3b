/**
 * What becomes of a method as a penalty grows: every weight of every kind of penalty that was run on top of one algorithm, each
 * a setting of its own (nothing is selected among them), on the same held-out domains and trials, beside the method
 * without. For the paper's Figure 4, and for its controls: whether rank or scale helps is seen by comparing kinds at
 * features of equal size.
 *
 * Kinds are the penalties, told apart by all that was set of them besides the weight (`nuclear-norm`, `nuclear-norm
 * scaling=sum`), and weight decay.
 */

import { withoutFixed } from "../records/fixed-settings.js";
import { regularizers } from "../regularizers/index.js";
import type { GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { datasetTitle, domainLabels, methodTitle } from "../settings/names.js";
import {
  chosenRecords,
  FEATURE_COLUMNS,
  type FeatureMeasure,
  type FeaturesOf,
  meanMeasure,
} from "./chosen-features.js";
import { type LateTraining, lateAccuracy, lateTraining } from "./late-training.js";
import type { Outcome } from "./outcome.js";
import { type Measure, type PairedSummary, pairedDifferences, summarize } from "./paired.js";
import { longerTrials, type SharedTrials, sharedTrials } from "./shared-trials.js";
import { familiesOf, type Member, type Weighed, weigh } from "./weight-members.js";

/** One weight of one kind, or the method without a penalty. */
export interface StudiedSetting {
  /** As `methodKey` writes it. */
  readonly method: string;
  readonly weight: number;
  /** λ of (λ/n)·‖F‖: the weight, or n times it where the norm is not divided by the n rows; null where neither applies. */
  readonly perSample: number | null;
  /** A fraction: the mean over held-out domains of the mean over trials. */
  readonly accuracy: number;
  /** By held-out domain. */
  readonly accuracies: readonly number[];
  /** To the method without a penalty; null where there is none on the same splits. */
  readonly difference: PairedSummary | null;
  /** The mean of the steps that selection chose. */
  readonly step: number;
  /** Over the second half of training, with no step chosen. */
  readonly late: LateTraining;
  /** How many runs these are, and in how many of them selection chose a step before the penalty's warm-up had ended. */
  readonly runs: number;
  readonly unpenalised: number;
  /** At the chosen steps; null where it was not recorded. */
  readonly features: Readonly<Record<FeaturesOf, Readonly<Record<FeatureMeasure, number | null>>>>;
}

/** A kind of penalty at its weights, lightest first. */
export interface StudiedKind {
  /** `nuclear-norm scaling=sum`, `weight decay`. */
  readonly title: string;
  /** The penalty's id, or `weightDecay`. */
  readonly penalty: string;
  readonly settings: readonly StudiedSetting[];
}

export interface WeightStudy {
  readonly dataset: string;
  /** `ERM on PACS`. */
  readonly title: string;
  /** The method without a penalty, as tables name it. */
  readonly plain: string;
  /** Labels of the held-out domains. */
  readonly domains: readonly string[];
  /** The trials that all settings have. */
  readonly trials: readonly number[];
  /** Rows of a batch that the penalty is on, where some kind is not divided by them. */
  readonly rows: number | null;
  readonly baseline: StudiedSetting | null;
  readonly kinds: readonly StudiedKind[];
  /** What was left out, in words. */
  readonly notes: readonly string[];
}

/** The studies there are runs for: one for each dataset and algorithm that was run with two weights or more of a kind. */
export function weightStudies(outcome: Outcome): WeightStudy[] {
  const families = [...familiesOf(outcome).values()];
  return outcome.datasets.flatMap((dataset) => families.flatMap((members) => studiesOf(outcome, dataset, members)));
}

/** The study of a family, and a second of those of its settings that have more trials than all have. */
function studiesOf(outcome: Outcome, dataset: string, members: readonly Member[]): WeightStudy[] {
  const isSwept = (of: readonly Member[]): boolean => {
    const kinds = of.map(({ kind }) => kind).filter((kind) => kind !== "");
    return new Set(kinds).size < kinds.length;
  };
  if (!isSwept(members)) return [];
  const order = outcome.domainsOf(dataset);
  const shared = sharedTrials(
    order,
    members.flatMap((member) => weigh(outcome, dataset, member) ?? []),
  );
  if (!isSwept(shared.whole)) return [];
  const study = studyOf(outcome, dataset, shared);
  const longer = longerTrials(order, shared);
  const isComparison = longer?.whole.some(({ kind }) => kind === "") && longer.whole.length > 2;
  if (!longer || !isComparison) return [study];
  const title = `${study.title}, trials ${longer.trials.join(", ")}`;
  return [study, { ...studyOf(outcome, dataset, { ...longer, partial: [] }), title }];
}

function studyOf(
  outcome: Outcome,
  dataset: string,
  { trials, domains, whole, partial }: SharedTrials<Weighed>,
): WeightStudy {
  const plain = whole.find(({ kind }) => kind === "");
  const where = { dataset, domains, trials };
  const settingOf = (each: Weighed): StudiedSetting => measure(outcome, each, plain, where);
  const kinds = [...new Set(whole.map(({ kind }) => kind))].filter((kind) => kind !== "");
  const [{ reported, rest }] = whole;
  const bare = methodTitle({ ...reported.method, regularizers: [], fixed: withoutFixed(rest, outcome.common) });
  const studied = kinds
    .map((title): StudiedKind => {
      const own = whole.filter(({ kind }) => kind === title).sort((a, b) => a.weight - b.weight);
      return { title, penalty: own[0].penalty, settings: own.map(settingOf) };
    })
    .sort((a, b) => placeOf(a) - placeOf(b));
  return {
    dataset,
    title: `${bare} on ${datasetTitle(dataset)}`,
    plain: bare,
    domains: domainLabels(dataset, domains),
    trials,
    rows: whole.find(({ rows }) => rows !== null)?.rows ?? null,
    baseline: plain ? settingOf(plain) : null,
    kinds: studied,
    notes: [
      ...partial.map(
        (each) => `${each.reported.title} was left out: it does not have every held-out domain in the same trials`,
      ),
      ...studied.flatMap(({ title, settings }) => settings.flatMap((setting) => unpenalisedWords(title, setting))),
    ],
  };
}

/** A weight that breaks training may be seen least where it is worst: selection falls back on a model from before it. */
function unpenalisedWords(kind: string, { weight, runs, unpenalised }: StudiedSetting): string[] {
  if (unpenalised === 0) return [];
  return [
    `${kind}, weight ${weight}: in ${unpenalised} of ${runs} runs selection chose a step before the penalty set in, so there it is the plain method`,
  ];
}

/** Penalties as they are listed, the paper's first, and weight decay last. */
function placeOf({ penalty }: StudiedKind): number {
  const place = Object.keys(regularizers).indexOf(penalty);
  return place < 0 ? Number.MAX_SAFE_INTEGER : place;
}

/** Updates made before the run's penalty joined them. */
function warmupOf(outcome: Outcome, { run }: GroupResult["choice"]): number {
  const [penalty] = outcome.storedOf(run)?.settings.regularizers ?? [];
  return Number(penalty?.settings.warmup ?? 0);
}

function measure(
  outcome: Outcome,
  { reported, weight, perSample, results }: Weighed,
  plain: Weighed | undefined,
  { dataset, domains, trials }: { dataset: string; domains: readonly string[]; trials: readonly number[] },
): StudiedSetting {
  const inTrials = (of: readonly GroupResult[]): GroupResult[] =>
    of.filter(({ trialSeed }) => trials.includes(trialSeed));
  const own = inTrials(results);
  const accuracies = domains.map((domain) =>
    mean(own.filter(({ testDomain }) => testDomain === domain).map(({ choice }) => choice.test)),
  );
  const records = own.map((result) => chosenRecords(outcome, result));
  const measures = (of: FeaturesOf): Record<FeatureMeasure, number | null> => {
    const names = Object.keys(FEATURE_COLUMNS) as FeatureMeasure[];
    const values = names.map((name) => [name, meanMeasure(records, name, of)]);
    return Object.fromEntries(values) as Record<FeatureMeasure, number | null>;
  };
  const difference = (measure?: Measure): PairedSummary | null => {
    if (!plain || plain.reported === reported) return null;
    const pair = [reported, plain.reported] as const;
    const cells = domains.map((domain) => pairedDifferences(outcome, pair, { dataset, domain, trials, measure }).pairs);
    return cells.every(({ length }) => length > 0) ? summarize([cells]) : null;
  };
  return {
    method: reported.key,
    weight,
    perSample,
    accuracy: mean(accuracies),
    accuracies,
    difference: difference(),
    step: mean(own.map(({ choice }) => choice.step)),
    late: lateTraining(outcome, { own, domains, difference: difference(lateAccuracy) }),
    runs: own.length,
    unpenalised: own.filter(({ choice }) => choice.step < warmupOf(outcome, choice)).length,
    features: { "training domains": measures("training domains"), "held-out domain": measures("held-out domain") },
  };
}
