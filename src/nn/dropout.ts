/**
 * Dropout (Srivastava et al., 2014): in training, sets each element to zero with probability p and scales the others by
 * 1/(1 − p).
 */

import { empty } from "../engine/ops.generated.js";
import { currentRandom } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Layer } from "./module.js";

export class Dropout extends Layer {
  constructor(readonly p: number) {
    super();
    if (!(p >= 0 && p <= 1)) throw new UsageError(`Dropout: the probability must lie in [0, 1], got ${p}`);
  }

  /** Draws from `currentRandom`. In evaluation mode or with p = 0 it draws nothing and returns x. */
  forward(x: Tensor): Tensor {
    if (!this.training || this.p === 0) return x;
    const random = currentRandom("dropout").next("dropout");
    if (this.p === 1) return x.mul(0);
    // Draw in row-major order and at least float32, so that the mask does not depend on the layout and precision of x.
    const dtype = x.dtype === "float64" ? "float64" : "float32";
    const kept = 1 - this.p;
    const mask = random.bernoulli_(empty(x.shape, { dtype, device: x.device }), kept).div_(kept);
    const y = x.mul(mask);
    return y.dtype === x.dtype ? y : y.toDType(x.dtype);
  }
}
