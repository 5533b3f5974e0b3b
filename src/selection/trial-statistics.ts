/**
 * What some trials say of a mean: Student's t interval with trials as the unit. A trial is a fresh split and seed, so trials are
 * independent of each other; runs of one trial with different domains held out share their split, and domains are fixed,
 * so they do not count as observations of their own. Everything that is averaged is averaged within a trial first.
 *
 * The t interval is exact for normal trial means with any number of trials from two on, and it is close to that for the
 * residuals of kept studies (coverage.ts). Bootstrap percentiles are not: with three trials they cover 75 % or less.
 */

import { mean } from "./mean.js";
import { criticalT, withinT } from "./student-t.js";

/** The mean of some trials' values, and how well it is known. */
export interface TrialSummary {
  readonly mean: number;
  /** How many trials the mean and the interval are over. */
  readonly trials: number;
  /** The standard error: the sample standard deviation over √trials; null for one trial. */
  readonly error: number | null;
  /** The 95 % interval; null for one trial. */
  readonly interval: Interval | null;
  /** Two-sided, against a mean of zero; null for one trial. */
  readonly p: number | null;
}

export type Interval = readonly [low: number, high: number];

/** Below it, a corrected p-value decides. */
export const SIGNIFICANT = 0.05;

/** Summarizes one value a trial. */
export function overTrials(values: readonly number[]): TrialSummary {
  const [centre, trials] = [mean(values), values.length];
  if (trials < 2 || !Number.isFinite(centre)) return { mean: centre, trials, error: null, interval: null, p: null };
  const squares = values.map((value) => (value - centre) ** 2);
  const error = Math.sqrt(squares.reduce((total, square) => total + square, 0) / (trials - 1) / trials);
  const known = { mean: centre, trials, error };
  return { ...known, interval: intervalAt(known, 0.95), p: pAgainst(known, 0) };
}

type Known = Pick<TrialSummary, "mean" | "trials" | "error">;

/** The interval of another level; null for one trial. */
export function intervalAt({ mean: centre, trials, error }: Known, level: number): Interval | null {
  if (error === null) return null;
  const half = criticalT(level, trials - 1) * error;
  return [centre - half, centre + half];
}

/** The two-sided p-value against a mean of `value`; null for one trial. Trials that are all equal leave no doubt. */
export function pAgainst({ mean: centre, trials, error }: Known, value: number): number | null {
  if (error === null) return null;
  if (error === 0) return centre === value ? 1 : 0;
  return 1 - withinT((centre - value) / error, trials - 1);
}

/**
 * The p-value of equivalence within ±`margin` by two one-sided tests (Schuirmann, Journal of Pharmacokinetics and
 * Biopharmaceutics 15, 1987): below 0.05 exactly where the 90 % interval lies inside the margin.
 */
export function pEquivalent(summary: Known, margin: number): number | null {
  const oneSided = (limit: number, inside: boolean): number | null => {
    const p = pAgainst(summary, limit);
    return p === null ? null : inside ? p / 2 : 1 - p / 2;
  };
  const [above, below] = [oneSided(-margin, summary.mean > -margin), oneSided(margin, summary.mean < margin)];
  return above === null || below === null ? null : Math.max(above, below);
}

/** P-values corrected for their number by Holm's step-down method (Scandinavian Journal of Statistics 6, 1979). */
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
