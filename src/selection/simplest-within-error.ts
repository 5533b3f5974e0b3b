/**
 * The one-standard-error rule: of candidates in order of simplicity, the simplest that is within one standard error of the best
 * (Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984, Section 3.4.3). The score is the mean over held-out domains
 * of their accuracies, each domain counting the same. The standard error is that of the paired difference from the best
 * candidate, over the same pictures: pictures that both get right or both get wrong add nothing to it.
 */

/** What one candidate got right: for each held-out domain, 1 or 0 for each of its pictures, in one order for all candidates. */
export type RightByDomain = readonly ArrayLike<number>[];

export interface Choice {
  /** The places of the candidate chosen and of the one with the highest mean; the first of equals. */
  readonly chosen: number;
  readonly best: number;
  /** Of every candidate: the mean over domains, by how much the best is above it, and the standard error of that difference. */
  readonly scores: readonly { readonly mean: number; readonly below: number; readonly error: number }[];
}

const mean = (values: ArrayLike<number>): number => Array.from(values).reduce((a, b) => a + b, 0) / values.length;

/** Chooses among candidates, the simplest first. Domains without pictures count nowhere. */
export function simplestWithinError(candidates: readonly RightByDomain[]): Choice {
  const measured = candidates.map((domains) => domains.filter(({ length }) => length > 0));
  const means = measured.map((domains) => mean(domains.map(mean)));
  const best = means.indexOf(Math.max(...means));
  const scores = measured.map((domains, i) => ({
    mean: means[i],
    below: means[best] - means[i],
    error: errorOfDifference(domains, measured[best]),
  }));
  const chosen = scores.findIndex(({ below, error }) => below <= error + 1e-12); // the best itself is among them
  return { chosen: chosen < 0 ? best : chosen, best, scores };
}

/** The standard error of the difference of two means over domains. */
function errorOfDifference(a: RightByDomain, b: RightByDomain): number {
  const variances = a.map((right, d) => {
    const differences = Array.from(right, (value, i) => b[d][i] - value);
    const centre = mean(differences);
    return mean(differences.map((each) => (each - centre) ** 2)) / Math.max(1, differences.length - 1);
  });
  return Math.sqrt(variances.reduce((sum, each) => sum + each, 0)) / a.length;
}
