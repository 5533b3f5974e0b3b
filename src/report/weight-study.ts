/**
 * The effect of a growing penalty: every weight of every kind of penalty that was run with one algorithm, each as its
 * own setting (there is no selection among them), on the same held-out domains and trials, together with the method
 * without a penalty. For the paper's Figure 4 and its controls: comparing kinds at features of equal size shows whether
 * rank or scale helps.
 *
 * Kinds are the penalties, distinguished by all explicit settings except the weight (`nuclear-norm`, `nuclear-norm
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
import {
  equalTrialsWords,
  isSearched,
  type Measure,
  type PairedSummary,
  pairedDifferences,
  summarize,
} from "./paired.js";
import { longerTrials, type SharedTrials, sharedTrials } from "./shared-trials.js";
import { averageStudies } from "./weight-average.js";
import { familiesOf, type Member, type Weighed, weigh } from "./weight-members.js";

/** One weight of one kind, or the method without a penalty. */
export interface StudiedSetting {
  /** As `methodKey` writes it. */
  readonly method: string;
  readonly weight: number;
  /**
   * λ of (λ/n)·‖F‖: the weight, or n times the weight if the norm is not divided by the n rows; null if neither
   * applies.
   */
  readonly perSample: number | null;
  /** A fraction: the mean over held-out domains of the mean over trials. */
  readonly accuracy: number;
  /** By held-out domain. */
  readonly accuracies: readonly number[];
  /** The difference to the method without a penalty; null if there is none on the same splits. */
  readonly difference: PairedSummary | null;
  /** The mean of the selected steps. */
  readonly step: number;
  /** Over the second half of training, without selection of a step. */
  readonly late: LateTraining;
  /** The number of runs, and in how many of them selection chose a step before the end of the penalty's warm-up. */
  readonly runs: number;
  readonly unpenalised: number;
  /** At the selected steps; null if it was not recorded. */
  readonly features: Readonly<Record<FeaturesOf, Readonly<Record<FeatureMeasure, number | null>>>>;
}

/** A kind of penalty at its weights, in ascending order. */
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
  /** The number of rows of a batch that the penalty covers, if some kind is not divided by it. */
  readonly rows: number | null;
  readonly baseline: StudiedSetting | null;
  readonly kinds: readonly StudiedKind[];
  /** Whether other hyperparameters than the weight were searched. */
  readonly searched?: boolean;
  /** The exclusions, as text. */
  readonly notes: readonly string[];
}

/** The studies for which there are runs: one per dataset and algorithm with at least two weights of a kind. */
export function weightStudies(outcome: Outcome): WeightStudy[] {
  const families = [...familiesOf(outcome).values()];
  const studies = outcome.datasets.flatMap((dataset) =>
    families.flatMap((members) => studiesOf(outcome, dataset, members)),
  );
  return [...studies, ...averageStudies(studies)];
}

/** The study of a family, and a second one of its settings that have more trials than all have. */
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
    ...(whole.some((each) => isSearched(outcome, each.reported.key, dataset)) && { searched: true }),
    notes: [
      ...partial.map(
        (each) => `${each.reported.title} was skipped: it does not have every held-out domain in the same trials`,
      ),
      ...studied.flatMap(({ title, settings }) => settings.flatMap((setting) => unpenalisedWords(title, setting))),
      ...equalTrialsWords(studied.flatMap(differencesOf)),
    ],
  };
}

/** A weight that breaks training may not show in the selected accuracy, because selection falls back to a model from before the penalty. */
function unpenalisedWords(kind: string, { weight, runs, unpenalised }: StudiedSetting): string[] {
  if (unpenalised === 0) return [];
  return [
    `${kind}, weight ${weight}: in ${unpenalised} of ${runs} runs, selection chose a step before the penalty became active, so these are equal to the plain method`,
  ];
}

/** The differences to the plain method, with the titles of their rows. */
function differencesOf({ title, settings }: StudiedKind): (PairedSummary & { title: string })[] {
  return settings.flatMap(({ weight, difference, late }) => [
    ...(difference ? [{ ...difference, title: `${title}, weight ${weight}` }] : []),
    ...(late.difference ? [{ ...late.difference, title: `${title}, weight ${weight}, second half of training` }] : []),
  ]);
}

/** Penalties in the order of their list, the paper's first, and weight decay last. */
function placeOf({ penalty }: StudiedKind): number {
  const place = Object.keys(regularizers).indexOf(penalty);
  return place < 0 ? Number.MAX_SAFE_INTEGER : place;
}

/** The number of updates before the penalty of the run became active. */
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
