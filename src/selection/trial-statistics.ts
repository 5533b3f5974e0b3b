/**
 * Statistics of a mean over trials: Student's t interval with the trial as the unit of observation. A trial has its own
 * split and seed, so trials are independent. Runs of one trial that hold out different domains share a split, and the
 * domains are fixed, so they are not independent observations. All averages are therefore taken within a trial first.
 *
 * The t interval is exact for normally distributed trial means with two or more trials, and close to exact for the
 * residuals of stored studies (coverage.ts). Bootstrap percentiles are not: with three trials they cover 75 % or less.
 *
 * Accuracies on small test sets are coarse, so the differences of a few trials can be equal by chance. A spread of zero
 * then says nothing about further trials, so equal trials have no interval and no p-value.
 */

import { mean } from "./mean.js";
import { criticalT, withinT } from "./student-t.js";

/** The mean over trials and its uncertainty. */
export interface TrialSummary {
  readonly mean: number;
  /** The number of trials. */
  readonly trials: number;
  /** The standard error: the sample standard deviation over √trials. Null for a single trial and for equal trials. */
  readonly error: number | null;
  /** The 95 % confidence interval. Null if the error is. */
  readonly interval: Interval | null;
  /** The two-sided p-value against a mean of zero. Null if the error is. */
  readonly p: number | null;
}

export type Interval = readonly [low: number, high: number];

/** A difference is significant if its corrected p-value is below this level. */
export const SIGNIFICANT = 0.05;

/** Values this close are equal: the same difference of accuracies can have another rounding error. */
const ROUNDING = 1e-12;

/** Summarizes the values of trials, one value per trial. */
export function summarizeTrials(values: readonly number[]): TrialSummary {
  const [centre, trials] = [mean(values), values.length];
  const spread = Math.max(...values) - Math.min(...values);
  if (trials < 2 || !(spread > ROUNDING) || !Number.isFinite(centre))
    return { mean: centre, trials, error: null, interval: null, p: null };
  const squares = values.map((value) => (value - centre) ** 2);
  const error = Math.sqrt(squares.reduce((total, square) => total + square, 0) / (trials - 1) / trials);
  const known = { mean: centre, trials, error };
  return { ...known, interval: intervalAt(known, 0.95), p: pAgainst(known, 0) };
}

/** Whether there are several trials without an interval, because all of them are equal. */
export const areEqualTrials = ({ mean: centre, trials, error }: Known): boolean =>
  trials > 1 && error === null && Number.isFinite(centre);

type Known = Pick<TrialSummary, "mean" | "trials" | "error">;

/** Returns the confidence interval at another level, or null if the error is not known. */
export function intervalAt({ mean: centre, trials, error }: Known, level: number): Interval | null {
  if (error === null) return null;
  const half = criticalT(level, trials - 1) * error;
  return [centre - half, centre + half];
}

/** Returns the two-sided p-value against a mean of `value`, or null if the error is not known. */
export function pAgainst({ mean: centre, trials, error }: Known, value: number): number | null {
  if (error === null) return null;
  return 1 - withinT((centre - value) / error, trials - 1);
}

/**
 * Returns the p-value of equivalence within ±`margin` by two one-sided tests (Schuirmann, Journal of Pharmacokinetics
 * and Biopharmaceutics 15, 1987). It is below 0.05 exactly if the 90 % interval lies inside the margin.
 */
export function pEquivalent(summary: Known, margin: number): number | null {
  const oneSided = (limit: number, inside: boolean): number | null => {
    const p = pAgainst(summary, limit);
    return p === null ? null : inside ? p / 2 : 1 - p / 2;
  };
  const [above, below] = [oneSided(-margin, summary.mean > -margin), oneSided(margin, summary.mean < margin)];
  return above === null || below === null ? null : Math.max(above, below);
}

/**
 * Corrects p-values for multiple comparisons with Holm's step-down method (Scandinavian Journal of Statistics 6, 1979).
 */
export function holm(values: readonly (number | null)[]): (number | null)[] {
  const known = values.flatMap((p, at) => (p === null ? [] : [{ p, at }])).sort((a, b) => a.p - b.p);
  const corrected: (number | null)[] = values.map(() => null);
  let least = 0;
  known.forEach(({ p, at }, i) => {
    least = Math.max(least, Math.min(1, p * (known.length - i)));
    corrected[at] = least;
  });
  return corrected;
}

/**
 * Holm's correction for the rows of a table, each with its p-value. Equal trials have none, but their row counts as one
 * that was tested: chance decides whether trials are equal, and it must not make the other rows more significant.
 */
export function holmOfRows(rows: readonly Known[], values: readonly (number | null)[]): (number | null)[] {
  const corrected = holm(values.map((p, i) => (areEqualTrials(rows[i]) ? 1 : p)));
  return corrected.map((p, i) => (values[i] === null ? null : p));
}
