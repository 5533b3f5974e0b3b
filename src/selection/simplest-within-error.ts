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

/** Whether a candidate is within one standard error of the best. The best itself always is. */
export const isWithinError = ({ below, error }: Score): boolean => below <= error + 1e-12;

const mean = (values: ArrayLike<number>): number => Array.from(values).reduce((a, b) => a + b, 0) / values.length;

/** Chooses among candidates that are ordered from simplest to most complex. Domains without pictures are ignored. */
export function simplestWithinError(candidates: readonly CorrectByDomain[]): Choice {
  const measured = candidates.map((domains) => domains.filter(({ length }) => length > 0));
  const means = measured.map((domains) => mean(domains.map(mean)));
  const best = means.indexOf(Math.max(...means));
  const scores = measured.map((domains, i) => ({
    mean: means[i],
    below: means[best] - means[i],
    error: errorOfDifference(domains, measured[best]),
  }));
  const chosen = scores.findIndex(isWithinError);
  return { chosen: chosen < 0 ? best : chosen, best, scores };
}

/** Returns the standard error of the difference between two means over domains. */
function errorOfDifference(a: CorrectByDomain, b: CorrectByDomain): number {
  const variances = a.map((right, d) => {
    const differences = Array.from(right, (value, i) => b[d][i] - value);
    const centre = mean(differences);
    return mean(differences.map((each) => (each - centre) ** 2)) / Math.max(1, differences.length - 1);
  });
  return Math.sqrt(variances.reduce((sum, each) => sum + each, 0)) / a.length;
}
