/**
 * CORAL matches the mean and the covariance of the features of all domains:
 *
 *     d(a, b) = mean_k (μ_a − μ_b)_k² + mean_kl (C_a − C_b)_kl²,   C = (Z − μ)ᵀ(Z − μ)/(n − 1).
 *
 * This follows the reference implementations, which differ from the paper: they also match the means, and they average
 * the squared differences of the covariances over the width² entries, where the paper divides their sum by 4·width².
 *
 * A batch has fewer samples than features, so the covariance matrices (width × width) are not computed. With the
 * centred samples A and B,
 *
 *     Σ_kl (C_a − C_b)_kl² = ‖AAᵀ‖²/(n − 1)² + ‖BBᵀ‖²/(m − 1)² − 2‖ABᵀ‖²/((n − 1)(m − 1)),
 *
 * computed in float64, because the three terms nearly cancel if the domains are similar.
 */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { hparam, powerOfTen } from "../hparams.js";
import { mse, toFullPrecision } from "../nn/index.js";
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

/** Returns the distance of two samples, [n, width] and [m, width], in mean and covariance. */
export function momentDistance(a: Tensor, b: Tensor): Tensor {
  const [x, y] = [moments(a), moments(b)];
  const inner = (left: Moments, right: Moments): Tensor => left.centred.mm(right.centred.t()).square().sum();
  const covariances = inner(x, x).add(inner(y, y)).sub(inner(x, y), { alpha: 2 });
  const [, width] = a.shape;
  return mse(x.mean, y.mean).add(covariances.div(width * width).to({ dtype: x.mean.dtype }));
}

interface Moments {
  readonly mean: Tensor;
  /** (Z − μ)/√(n − 1) in float64. Its transpose times itself is the covariance. */
  readonly centred: Tensor;
}

function moments(z: Tensor): Moments {
  if (z.rows < 2) {
    throw new UsageError(
      `CORAL takes the covariance of each domain's features: expected at least 2 samples a domain, got ${z.rows}. Raise the batch size`,
    );
  }
  const wide = toFullPrecision(z);
  const mean = wide.mean(0, true);
  return {
    mean,
    centred: wide
      .sub(mean)
      .to({ dtype: "float64" })
      .div(Math.sqrt(z.rows - 1)),
  };
}
