/**
 * Stochastic depth (Huang et al., 2016, https://arxiv.org/abs/1603.09382), also called drop path. In training, the
 * branch of a residual block is dropped for each sample with probability p, and scaled by 1/(1 − p) for the other
 * samples.
 */

import { empty } from "../engine/ops.generated.js";
import { currentRandom } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Layer } from "./module.js";

export class StochasticDepth extends Layer {
  constructor(readonly p: number) {
    super();
    if (!(p >= 0 && p <= 1)) throw new UsageError(`StochasticDepth: the probability must lie in [0, 1], got ${p}`);
  }

  /** Whether `forward` changes its input: in training with p > 0. */
  get active(): boolean {
    return this.training && this.p > 0;
  }

  /**
   * Drops samples of a residual branch [n, …] before it is added. It draws one number per sample from `currentRandom`,
   * and nothing if it is inactive.
   */
  forward(x: Tensor): Tensor {
    const mask = this.mask(x);
    if (!mask) return x;
    const y = x.mul(mask.view(...x.shape.map((size, i) => (i === 0 ? size : 1))));
    return y.dtype === x.dtype ? y : y.toDType(x.dtype);
  }

  /** Draws the factor of each sample of a branch [n, …]: 0 or 1/(1 − p). Null if the layer is inactive. */
  mask(x: Tensor): Tensor | null {
    if (!this.active) return null;
    const random = currentRandom("stochastic depth").next("stochastic-depth");
    // Use at least float32: in bfloat16, 1/(1 − p) has an error of up to 0.4 %.
    const mask = empty([x.rows], { dtype: x.dtype === "float64" ? "float64" : "float32", device: x.device });
    const kept = 1 - this.p;
    return kept === 0 ? mask.zero_() : random.bernoulli_(mask, kept).div_(kept);
  }
}

/**
 * Returns the drop probabilities of `count` blocks. They increase linearly from 0 to `rate`, as in ViT, Swin and
 * ConvNeXt.
 */
export function stochasticDepthRates(rate: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (count === 1 ? rate : (rate * i) / (count - 1)));
}
