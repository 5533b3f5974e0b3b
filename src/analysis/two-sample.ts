/**
 * The Kolmogorov-Smirnov test: whether two samples of a number come from the same distribution. The p-value is the
 * asymptotic one with Stephens' correction for finite samples (Journal of the Royal Statistical Society B, 1970).
 */

export interface TwoSampleTest {
  /** The largest difference between the two distribution functions. */
  readonly statistic: number;
  readonly p: number;
}

export function kolmogorovSmirnov(a: readonly number[], b: readonly number[]): TwoSampleTest {
  const [x, y] = [a.toSorted((p, q) => p - q), b.toSorted((p, q) => p - q)];
  let [i, j, statistic] = [0, 0, 0];
  while (i < x.length && j < y.length) {
    const at = Math.min(x[i], y[j]);
    while (i < x.length && x[i] <= at) i++;
    while (j < y.length && y[j] <= at) j++;
    statistic = Math.max(statistic, Math.abs(i / x.length - j / y.length));
  }
  const size = Math.sqrt((x.length * y.length) / (x.length + y.length));
  return { statistic, p: tail((size + 0.12 + 0.11 / size) * statistic) };
}

/** 2 Σ (−1)^(k−1) exp(−2 k² λ²); for small λ the series does not converge, and the value is 1. */
function tail(lambda: number): number {
  if (lambda < 0.2) return 1;
  let sum = 0;
  for (let k = 1; k <= 100; k++) sum += (k % 2 === 1 ? 2 : -2) * Math.exp(-2 * (k * lambda) ** 2);
  return Math.min(1, Math.max(0, sum));
}
