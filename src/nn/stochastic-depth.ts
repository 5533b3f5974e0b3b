/**
 * Stochastic depth (Huang et al., 2016, https://arxiv.org/abs/1603.09382), also called drop path: in training, the branch of a
 * residual block is dropped for each sample with probability p, and scaled by 1/(1 − p) for the samples that keep it.
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

  /** Whether `forward` draws and changes its input: in training, with p above 0. */
  get active(): boolean {
    return this.training && this.p > 0;
  }

  /** The branch [n, …], before it is added. Draws from `currentRandom`, one number a sample; nothing is drawn when inactive. */
  forward(x: Tensor): Tensor {
    if (!this.active) return x;
    const random = currentRandom("stochastic depth").next("stochastic-depth");
    if (this.p === 1) return x.mul(0);
    // In float32 at least: in bfloat16, 1/(1 − p) is off by up to 0.4 %.
    const dtype = x.dtype === "float64" ? "float64" : "float32";
    const kept = 1 - this.p;
    const shape = x.shape.map((size, i) => (i === 0 ? size : 1));
    const mask = random.bernoulli_(empty(shape, { dtype, device: x.device }), kept).div_(kept);
    const y = x.mul(mask);
    return y.dtype === x.dtype ? y : y.toDType(x.dtype);
  }
}

/** The probabilities of `count` blocks: linear from 0 at the first to `rate` at the last, as ViT, Swin and ConvNeXt have them. */
export function stochasticDepthRates(rate: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (count === 1 ? rate : (rate * i) / (count - 1)));
}
