/**
 * CORAL: features of all domains alike in mean and covariance:
 *
 *     d(a, b) = mean_k (μ_a − μ_b)_k² + mean_kl (C_a − C_b)_kl²,   C = (Z − μ)ᵀ(Z − μ)/(n − 1).
 *
 * As in the reference implementations, which differ from the paper: the means are matched too, and the covariances' squared
 * differences are averaged over the width² entries where the paper divides their sum by 4·width².
 */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { hparam, powerOfTen } from "../hparams.js";
import { forSum, mse } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { featureMatching } from "./feature-matching.js";

export const coral = defineAlgorithm({
  id: "coral",
  title: "CORAL",
  paper:
    "Sun & Saenko, Deep CORAL: Correlation Alignment for Deep Domain Adaptation, ECCV Workshops 2016, https://arxiv.org/abs/1607.01719",
  needsDomains: true,
  hparams: {
    /** The weight of the distance. */
    gamma: hparam(1, powerOfTen(-1, 1), { reference: "mmd_gamma" }),
  },
  build: (context) => featureMatching(context, momentDistance),
});

/** How far two samples, [n, width] and [m, width], differ in mean and covariance. */
export function momentDistance(a: Tensor, b: Tensor): Tensor {
  const [x, y] = [moments(forSum(a)), moments(forSum(b))];
  return mse(x.mean, y.mean).add(mse(x.covariance, y.covariance));
}

function moments(z: Tensor): { mean: Tensor; covariance: Tensor } {
  if (z.rows < 2) {
    throw new UsageError(
      `CORAL takes the covariance of each domain's features: expected at least 2 samples a domain, got ${z.rows}. Raise the batch size`,
    );
  }
  const mean = z.mean(0, true);
  const centred = z.sub(mean);
  return {
    mean,
    covariance: centred
      .t()
      .matmul(centred)
      .div(z.rows - 1),
  };
}
