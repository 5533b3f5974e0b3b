/**
 * Paired differences: two methods on the same trials and splits, so that the effect of the split cancels. By held-out
 * domain, by dataset and over all, each with a t interval whose unit is the trial (trial-statistics.ts): over several
 * domains, the value of a trial is its mean over them, and over several datasets the mean of those means.
 *
 * A trial counts only if it has every averaged domain; otherwise trials would be means of different domains. The notes
 * report the excluded trials.
 */

import { groupBy } from "../group-by.js";
import { fixedText } from "../records/fixed-settings.js";
import { mean } from "../selection/mean.js";
import { areEqualTrials, holmOfRows, summarizeTrials, type TrialSummary } from "../selection/trial-statistics.js";
import { besidesPenalties, datasetTitle, domainLabels } from "../settings/names.js";
import type { Outcome, ReportedMethod } from "./outcome.js";
import type { ReportedResult } from "./whole-domain.js";

export interface PairedDifference extends PairedSummary {
  /** Null for the mean over all datasets, and over all domains of one. */
  readonly dataset: string | null;
  readonly domain: string | null;
  readonly title: string;
}

/** The mean over trials of the first minus the second, as a fraction. */
export interface PairedSummary extends TrialSummary {
  /** The number of pairs of runs. */
  readonly pairs: number;
}

/** A difference with its p-value corrected for the others of the same report. */
export interface CorrectedDifference extends PairedDifference {
  /** By Holm's method; null if there is no p-value. */
  readonly corrected: number | null;
}

export interface PairedComparison {
  readonly first: string;
  readonly second: string;
  readonly rows: readonly CorrectedDifference[];
  /**
   * Over several domains, in the second half of training, without selection of a step (late-training.ts); for trained
   * weights, not averages.
   */
  readonly late: readonly CorrectedDifference[];
  /** Why there is none on some dataset: an average or a combination is compared, or there are too few evaluations. */
  readonly lateLacks?: "trained weights" | "evaluations";
  /** Whether a compared method was searched, so that validation chose its hyperparameters. */
  readonly searched?: boolean;
  readonly notes: readonly string[];
  /** Whether this pair was requested; if not, it is a method with a penalty and the same method without it. */
  readonly asked: boolean;
  /** Whether all of it is on own pictures, where accuracies cover whole domains. */
  readonly own: boolean;
}

/** What the interval means, for the text above a table. */
export const intervalWords =
  "Same trial, same split, same held-out domain: the mean of the differences in points of accuracy, with Student's t interval over " +
  "trials (for several domains, over the means of the trials). It applies to new trials, that is, other splits and seeds, on these pictures and domains.";

/** The default pairs: each regularized method with the same method without the penalty, as in the paper. */
export function regularizedPairs({ methods }: Outcome): [ReportedMethod, ReportedMethod][] {
  return methods.flatMap((first): [ReportedMethod, ReportedMethod][] => {
    const { algorithm, model, regularizers } = first.method;
    if (regularizers.length === 0) return [];
    const second = methods.find(
      ({ method }) =>
        method.algorithm === algorithm &&
        method.model === model &&
        method.regularizers.length === 0 &&
        fixedText(method.fixed) === fixedText(besidesPenalties(first.method)),
    );
    return second ? [[first, second]] : [];
  });
}

/** The compared value of a run; by default the accuracy at the selected step. */
export type Measure = (result: ReportedResult) => number;
const chosenAccuracy: Measure = ({ choice }) => choice.test;

/** The difference of a pair of runs. */
export interface Pair {
  readonly trial: number;
  readonly difference: number;
}

/** A comparison by itself, before p-values are corrected for the others. */
export interface UncorrectedComparison extends Omit<PairedComparison, "rows" | "late"> {
  readonly rows: readonly PairedDifference[];
  readonly late: readonly PairedDifference[];
}

/**
 * Corrects the p-values of all comparisons of a report by Holm's method. Rows over several domains, rows of single
 * domains and rows of the second half of training answer different questions, so each kind is corrected by itself.
 */
export function withCorrection(comparisons: readonly UncorrectedComparison[]): PairedComparison[] {
  const all = comparisons.flatMap(({ rows, late }) => [
    ...rows.map((row) => ({ row, kind: row.domain === null ? "over domains" : "of a domain" })),
    ...late.map((row) => ({ row, kind: "late" })),
  ]);
  const corrected = new Map<PairedDifference, number | null>();
  for (const kind of groupBy(all, (each) => each.kind).values()) {
    const rows = kind.map(({ row }) => row);
    const values = holmOfRows(
      rows,
      rows.map(({ p }) => p),
    );
    rows.forEach((row, i) => {
      corrected.set(row, values[i]);
    });
  }
  const add = (row: PairedDifference): CorrectedDifference => ({ ...row, corrected: corrected.get(row) ?? null });
  return comparisons.map((each) => ({ ...each, rows: each.rows.map(add), late: each.late.map(add) }));
}

/** Compares two methods; null if they share no trial. */
export function pairedComparison(
  outcome: Outcome,
  pair: readonly [ReportedMethod, ReportedMethod],
  { measure, datasets = outcome.datasets }: { measure?: Measure; datasets?: readonly string[] } = {},
): Omit<UncorrectedComparison, "late" | "asked"> | null {
  const rows: PairedDifference[] = [];
  const notes: string[] = [];
  const strata: Pair[][][] = [];
  for (const dataset of datasets) {
    const domains = outcome.domainsOf(dataset);
    const labels = domainLabels(dataset, domains);
    const perDomain = domains.map((domain) => {
      const found = pairedDifferences(outcome, pair, { dataset, domain, measure });
      notes.push(...found.notes);
      return found.pairs;
    });
    const present = perDomain.filter(({ length }) => length > 0);
    if (present.length === 0) continue;
    perDomain.forEach((pairs, i) => {
      if (pairs.length === 0) return;
      const title = `${datasetTitle(dataset)} ${labels[i]}`;
      rows.push({ dataset, domain: domains[i], title, ...summarize([[pairs]]) });
    });
    const title = `${datasetTitle(dataset)}, ${present.length} of ${domains.length} domains`;
    rows.push({ dataset, domain: null, title, ...summarize([present]) });
    notes.push(...incompleteWords(title, [present]));
    strata.push(present);
  }
  if (strata.length === 0) return null;
  if (strata.length > 1) {
    const title = `mean over ${strata.length} datasets`;
    rows.push({ dataset: null, domain: null, title, ...summarize(strata) });
    notes.push(...incompleteWords(title, strata));
  }
  const own = rows.every(({ dataset }) => dataset === null || outcome.isOwnData(dataset));
  const [first, second] = pair.map(({ title }) => title);
  notes.push(...equalWords({ first, second }, rows));
  const searched = pair.some(({ key }) => datasets.some((dataset) => isSearched(outcome, key, dataset)));
  return { first, second, rows, notes, own, ...(searched && { searched }) };
}

/** Whether the runs of a method on a dataset have several draws of hyperparameters. */
export const isSearched = (outcome: Outcome, method: string, dataset: string): boolean =>
  new Set(outcome.runsOf(method, dataset).map(({ hparamsSeed }) => hparamsSeed)).size > 1;

/**
 * The accuracies of a method minus those of the other, trial by trial, if both have the trial and the same split; for
 * some trials or all.
 */
export function pairedDifferences(
  outcome: Outcome,
  [first, second]: readonly [ReportedMethod, ReportedMethod],
  {
    dataset,
    domain,
    trials,
    measure = chosenAccuracy,
  }: { dataset: string; domain: string; trials?: readonly number[]; measure?: Measure },
): { pairs: Pair[]; notes: string[] } {
  const notes: string[] = [];
  const others = outcome.resultsOf(second.key, dataset, domain);
  const pairs = outcome.resultsOf(first.key, dataset, domain).flatMap((result): Pair[] => {
    const { trialSeed: trial } = result;
    const other = others.find(({ trialSeed }) => trialSeed === trial);
    if (!other || trials?.includes(trial) === false) return [];
    const splits = [result, other].map(({ choice: { run } }) => {
      const settings: object | undefined = outcome.storedOf(run)?.settings;
      return (settings as { splitHash?: string } | undefined)?.splitHash;
    });
    if (splits[0] !== undefined && splits[1] !== undefined && splits[0] !== splits[1]) {
      notes.push(
        `${datasetTitle(dataset)}, ${domain}, trial ${trial}: not compared, because the splits differ (${splits.join(" and ")})`,
      );
      return [];
    }
    return [{ trial, difference: measure(result) - measure(other) }];
  });
  return { pairs, notes };
}

/** The existing pairs, by dataset and domain. */
type Strata = readonly (readonly (readonly Pair[])[])[];

/**
 * The mean over trials of the trial's mean over datasets of the mean over domains. If no trial has every domain, there
 * is no interval, and the mean is over the existing pairs, with equal weights for domains and datasets.
 */
export function summarize(strata: Strata): PairedSummary {
  const overall = (of: (pairs: readonly Pair[]) => number): number =>
    mean(strata.map((domains) => mean(domains.map(of))));
  const cells = strata.flat();
  const { complete } = trialsOf(cells);
  if (complete.length === 0) {
    const pairs = cells.reduce((total, { length }) => total + length, 0);
    const value = overall((cell) => mean(cell.map(({ difference }) => difference)));
    return { mean: value, trials: 0, error: null, interval: null, p: null, pairs };
  }
  const inTrial = (seed: number): number => overall((cell) => cell.find(({ trial }) => trial === seed)!.difference);
  return { ...summarizeTrials(complete.map(inTrial)), pairs: complete.length * cells.length };
}

/** The trials that every cell has, and those that some lack. */
function trialsOf(cells: readonly (readonly Pair[])[]): { complete: number[]; incomplete: number[] } {
  const isIn =
    (seed: number) =>
    (cell: readonly Pair[]): boolean =>
      cell.some(({ trial }) => trial === seed);
  const seeds = [...new Set(cells.flat().map(({ trial }) => trial))].sort((a, b) => a - b);
  const complete = seeds.filter((seed) => cells.every(isIn(seed)));
  return { complete, incomplete: seeds.filter((seed) => !complete.includes(seed)) };
}

/** The notes of a comparison on rows whose trials are all equal. */
export const equalWords = (
  { first, second }: Pick<PairedComparison, "first" | "second">,
  rows: readonly PairedDifference[],
): string[] => equalTrialsWords(rows).map((note) => `${first} − ${second}, ${note}`);

/** Notes on rows without an interval, because the differences of all trials are equal. */
export function equalTrialsWords(rows: readonly (TrialSummary & { readonly title: string })[]): string[] {
  const byTrials = groupBy(rows.filter(areEqualTrials), ({ trials }) => trials);
  return Array.from(byTrials, ([trials, equal]) => {
    const where = equal.map(({ title }) => title).join("; ");
    return `${where}: the differences of all ${trials} trials are equal, so their spread is not known and there is no interval`;
  });
}

function incompleteWords(title: string, strata: Strata): string[] {
  const { complete, incomplete } = trialsOf(strata.flat());
  if (incomplete.length === 0) return [];
  if (complete.length === 0)
    return [`${title}: no trial has all of them, so there is no interval and the mean is over the existing pairs`];
  const which = incomplete.length === 1 ? `trial ${incomplete[0]} does` : `trials ${incomplete.join(", ")} do`;
  return [`${title}: ${which} not count, because runs are missing in ${incomplete.length === 1 ? "it" : "them"}`];
}
