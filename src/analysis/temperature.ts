/**
 * Temperature scaling (Guo et al., "On Calibration of Modern Neural Networks", ICML 2017): probabilities are
 * softmax(logits / T) with one T for the whole model, which maximizes the likelihood of validation pictures. It changes
 * no prediction, only the confidence.
 *
 * The negative log-likelihood is convex in 1/T, so the root of its derivative is found by bisection. Targets are
 * smoothed as in Platt (1999): with n pictures the target of the true class is 1 − 1/(n + 2); otherwise a model without
 * mistakes would have a T of zero.
 */

import { softmax } from "./judged.js";

/** The range of T. */
export const LEAST_TEMPERATURE = 0.1;
export const MOST_TEMPERATURE = 10;

/** The temperature for rows of logits with known classes; 1 if there are none. */
export function fitTemperature(rows: readonly ArrayLike<number>[], labels: readonly number[]): number {
  if (rows.length === 0) return 1;
  const smoothing = 1 / (rows.length + 2);
  // The expected logits under the targets: Σ_k t_k l_k, summed over pictures.
  const wanted = rows.reduce((sum, row, i) => {
    const others = Array.from(row).reduce((all, logit) => all + logit, 0) - row[labels[i]];
    return sum + (1 - smoothing) * row[labels[i]] + (row.length > 1 ? (smoothing / (row.length - 1)) * others : 0);
  }, 0);
  const slope = (inverse: number): number =>
    rows.reduce((sum, row) => {
      const probabilities = softmax(Array.from(row, (logit) => logit * inverse));
      return sum + probabilities.reduce((all, p, k) => all + p * row[k], 0);
    }, -wanted);
  let [low, high] = [1 / MOST_TEMPERATURE, 1 / LEAST_TEMPERATURE];
  for (let i = 0; i < 50; i++) {
    const middle = Math.sqrt(low * high);
    if (slope(middle) < 0) low = middle;
    else high = middle;
  }
  return 1 / Math.sqrt(low * high);
}
