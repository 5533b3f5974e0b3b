/**
 * Paired differences: two methods on the same trials and splits, so that what a split does to both cancels. The mean of
 * the differences with a bootstrap interval (Efron and Tibshirani, An Introduction to the Bootstrap, 1993: percentiles of
 * resampled means), by held-out domain, by dataset and over all.
 *
 * Trials are drawn anew within each domain, and domains (and datasets) weigh the same, as in the tables. With the usual
 * three trials such an interval is too narrow: it is a lower bound on what is not known, and the words say so.
 */

import { keyedRandom } from "../engine/philox.js";
import { mean } from "../selection/mean.js";
import { datasetTitle, domainLabels, variantBesidesPenalties } from "../settings/names.js";
import type { Outcome, ReportedMethod } from "./outcome.js";

export interface PairedDifference {
  /** Null for the mean over all datasets, and over all domains of one. */
  readonly dataset: string | null;
  readonly domain: string | null;
  readonly title: string;
  /** First less second, a fraction. */
  readonly mean: number;
  /** The middle 95% of resampled means; null where a domain has one pair only. */
  readonly interval: readonly [low: number, high: number] | null;
  readonly pairs: number;
}

export interface PairedComparison {
  readonly first: string;
  readonly second: string;
  readonly rows: readonly PairedDifference[];
  /** On each dataset over the second half of training, nothing selected (late-training.ts); of trained weights, not averages. */
  readonly late: readonly PairedDifference[];
  readonly notes: readonly string[];
  /** Whether all of it is on own pictures, where accuracies are of whole domains. */
  readonly own: boolean;
}

const RESAMPLES = 10_000;
const LEVEL = 0.95;

/** What the interval is, for the words above a table. */
export const intervalWords =
  "Same trial, same split, same held-out domain; the mean of the differences in points of accuracy, with the middle 95% of " +
  "10,000 bootstrap means (trials drawn anew within each domain, domains weighing the same). With few trials the interval is too narrow.";

/** The pairs compared unless told: each regularized method with the same without, as the paper does. */
export function regularizedPairs({ methods }: Outcome): [ReportedMethod, ReportedMethod][] {
  return methods.flatMap((first): [ReportedMethod, ReportedMethod][] => {
    const { algorithm, model, regularizers } = first.method;
    if (regularizers.length === 0) return [];
    const second = methods.find(
      ({ method }) =>
        method.algorithm === algorithm &&
        method.model === model &&
        method.regularizers.length === 0 &&
        method.variant === variantBesidesPenalties(first.method),
    );
    return second ? [[first, second]] : [];
  });
}

/** Compares two methods; null where they share no trial. */
export function pairedComparison(
  outcome: Outcome,
  [first, second]: readonly [ReportedMethod, ReportedMethod],
): Omit<PairedComparison, "late"> | null {
  const rows: PairedDifference[] = [];
  const notes: string[] = [];
  const strata: number[][][] = [];
  for (const dataset of outcome.datasets) {
    const domains = outcome.domainsOf(dataset);
    const labels = domainLabels(dataset, domains);
    const perDomain = domains.map((domain) => {
      const found = pairedDifferences(outcome, [first, second], { dataset, domain });
      notes.push(...found.notes);
      return found.values;
    });
    const present = perDomain.filter(({ length }) => length > 0);
    if (present.length === 0) continue;
    const key = [first.key, second.key, dataset];
    perDomain.forEach((values, i) => {
      if (values.length === 0) return;
      const summary = summarize([[values]], [...key, domains[i]]);
      rows.push({ dataset, domain: domains[i], title: `${datasetTitle(dataset)} ${labels[i]}`, ...summary });
    });
    const title = `${datasetTitle(dataset)}, ${present.length} of ${domains.length} domains`;
    rows.push({ dataset, domain: null, title, ...summarize([present], key) });
    strata.push(present);
  }
  if (strata.length === 0) return null;
  if (strata.length > 1) {
    const title = `mean over ${strata.length} datasets`;
    rows.push({ dataset: null, domain: null, title, ...summarize(strata, [first.key, second.key]) });
  }
  const own = rows.every(({ dataset }) => dataset === null || outcome.isOwnData(dataset));
  return { first: first.title, second: second.title, rows, notes, own };
}

/** A method's accuracies less the other's, trial by trial, where both have the trial and the same split; of some trials, or all. */
export function pairedDifferences(
  outcome: Outcome,
  [first, second]: readonly [ReportedMethod, ReportedMethod],
  { dataset, domain, trials }: { dataset: string; domain: string; trials?: readonly number[] },
): { values: number[]; notes: string[] } {
  const notes: string[] = [];
  const others = outcome.resultsOf(second.key, dataset, domain);
  const values = outcome.resultsOf(first.key, dataset, domain).flatMap(({ trialSeed, choice }) => {
    const other = others.find((each) => each.trialSeed === trialSeed);
    if (!other || trials?.includes(trialSeed) === false) return [];
    const splits = [choice, other.choice].map(({ run }) => {
      const settings: object | undefined = outcome.storedOf(run)?.settings;
      return (settings as { splitHash?: string } | undefined)?.splitHash;
    });
    if (splits[0] !== undefined && splits[1] !== undefined && splits[0] !== splits[1]) {
      notes.push(
        `${datasetTitle(dataset)}, ${domain}, trial ${trialSeed}: not a pair: the splits differ (${splits.join(" and ")})`,
      );
      return [];
    }
    return [choice.test - other.choice.test];
  });
  return { values, notes };
}

/** The mean over datasets of the means over domains of the means over trials, and its interval. */
export function summarize(
  strata: readonly (readonly (readonly number[])[])[],
  purpose: readonly string[],
): Pick<PairedDifference, "mean" | "interval" | "pairs"> {
  const overall = (of: (values: readonly number[]) => number): number =>
    mean(strata.map((domains) => mean(domains.map(of))));
  const all = strata.flat();
  const pairs = all.reduce((total, { length }) => total + length, 0);
  const value = overall(mean);
  if (!Number.isFinite(value) || all.some(({ length }) => length < 2)) return { mean: value, interval: null, pairs };
  const random = keyedRandom(0, "report", "paired", ...purpose);
  const resampled = (values: readonly number[]): number => {
    let total = 0;
    for (let i = 0; i < values.length; i++) total += values[random.integer(values.length)];
    return total / values.length;
  };
  const means = Float64Array.from({ length: RESAMPLES }, () => overall(resampled)).sort();
  return { mean: value, interval: [quantile(means, (1 - LEVEL) / 2), quantile(means, (1 + LEVEL) / 2)], pairs };
}

/** Between order statistics, linearly. */
function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}
