/**
 * The one-standard-error rule: among candidates ordered by simplicity, choose the simplest one within one standard
 * error of the best (Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984, Section 3.4.3).
 * The score is the mean accuracy over held-out domains, with equal weight for each domain. The standard error is that
 * of the paired difference from the best candidate on the same pictures. Pictures that both classify correctly, or both
 * incorrectly, do not contribute to it.
 */

/**
 * The correct predictions of one candidate: for each held-out domain, 1 or 0 for each picture. All candidates use the
 * same order of pictures.
 */
export type CorrectByDomain = readonly ArrayLike<number>[];

export interface Choice {
  /**
   * The indices of the chosen candidate and of the one with the highest mean. If several are equal, the first is used.
   */
  readonly chosen: number;
  readonly best: number;
  /**
   * For every candidate: the mean over domains, its difference to the best, and the standard error of that difference.
   */
  readonly scores: readonly Score[];
}

export interface Score {
  readonly mean: number;
  readonly below: number;
  readonly error: number;
}

/** A difference that rounding explains. */
const ROUNDING = 1e-12;

/** Whether a candidate is within one or more standard errors of the best. The best itself always is. */
export const isWithinError = ({ below, error }: Score, errors = 1): boolean => below <= errors * error + ROUNDING;

/** Relative weights of the pictures of each domain. */
export type PictureWeights = readonly ArrayLike<number>[];

/** The same weight for all pictures of a domain. */
const equalWeights = (domains: CorrectByDomain): PictureWeights =>
  domains.map(({ length }) => new Uint8Array(length).fill(1));

const sumOf = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const meanOf = (values: readonly number[]): number => sumOf(values) / values.length;
const weighted = (values: ArrayLike<number>, weights: ArrayLike<number>): number =>
  sumOf(Array.from(values, (value, i) => value * weights[i])) / sumOf(Array.from(weights));

/**
 * Chooses among candidates that are ordered from simplest to most complex. By default, all pictures of a domain have the
 * same weight. Domains without pictures are ignored.
 */
export function simplestWithinError(
  candidates: readonly CorrectByDomain[],
  weights: PictureWeights = equalWeights(candidates[0]),
): Choice {
  const measured = candidates.map((domains) => domains.filter(({ length }) => length > 0));
  const used = weights.filter(({ length }) => length > 0);
  const means = measured.map((domains) => meanOf(domains.map((right, d) => weighted(right, used[d]))));
  const highest = Math.max(...means);
  const best = means.findIndex((each) => each >= highest - ROUNDING);
  const scores = measured.map((domains, i) => ({
    mean: means[i],
    below: means[best] - means[i],
    error: errorOfDifference(domains, measured[best], used),
  }));
  const chosen = scores.findIndex((score) => isWithinError(score));
  return { chosen: chosen < 0 ? best : chosen, best, scores };
}

/** Returns the standard error of the difference between two means over domains. */
function errorOfDifference(a: CorrectByDomain, b: CorrectByDomain, weights: PictureWeights): number {
  const variances = a.map((right, d) => {
    const own = weights[d];
    const differences = Array.from(right, (value, i) => b[d][i] - value);
    const centre = weighted(differences, own);
    const count = differences.length;
    const squares = sumOf(differences.map((each, i) => (own[i] * (each - centre)) ** 2)) / sumOf(Array.from(own)) ** 2;
    return (squares * count) / Math.max(1, count - 1);
  });
  return Math.sqrt(sumOf(variances)) / a.length;
}
