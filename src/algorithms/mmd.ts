/**
 * MMD matches the features of all domains with the maximum mean discrepancy, a distance between two samples:
 *
 *     d(a, b) = mean K(a, a) + mean K(b, b) − 2·mean K(a, b),   K(x, y) = Σ_g exp(−g·‖x − y‖²).
 *
 * As in the reference implementations, the means are over all pairs, including a sample with itself; there is no
 * adversary, unlike in the paper; and ‖x − y‖² is computed with a matrix product, ‖x‖² + ‖y‖² − 2x·y. In float32 this
 * has cancellation errors that g = 1000 makes visible, so exact distances would give different numbers from the
 * published ones.
 */

import type { Tensor } from "../engine/tensor.js";
import { hparam, powerOfTen } from "../hparams.js";
import { toFullPrecision } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { featureMatching } from "./feature-matching.js";

export const mmd = defineAlgorithm({
  id: "mmd",
  title: "MMD",
  paper: "Li, Pan, Wang & Kot, Domain Generalization with Adversarial Feature Learning, CVPR 2018",
  needsDomains: true,
  hparams: {
    /** The weight of the discrepancy. */
    gamma: hparam(1, powerOfTen(-1, 1), { reference: "mmd_gamma" }),
  },
  build: (context) => featureMatching(context, (a, b) => discrepancy(a, b)),
});

const RATES = [0.001, 0.01, 0.1, 1, 10, 100, 1000];

/** Returns the squared maximum mean discrepancy of two samples, [n, width] and [m, width]. */
export function discrepancy(a: Tensor, b: Tensor, rates: readonly number[] = RATES): Tensor {
  const [x, y] = [toFullPrecision(a), toFullPrecision(b)];
  const mean = (left: Tensor, right: Tensor) => kernels(left, right, rates).mean();
  return mean(x, x).add(mean(y, y)).sub(mean(x, y), { alpha: 2 });
}

/** Returns K(x, y) for all pairs of samples, [n, m]. `rates` are the g. */
export function kernels(x: Tensor, y: Tensor, rates: readonly number[] = RATES): Tensor {
  const norms = (z: Tensor) => z.square().sum(1, true); // [n, 1]
  const distances = norms(y).t().addmm(x, y.t(), { alpha: -2 }).add(norms(x)).clamp(1e-30);
  return rates.map((rate) => distances.mul(-rate).exp()).reduce((sum, kernel) => sum.add(kernel));
}
