/** Layer normalization (Ba et al., 2016, https://arxiv.org/abs/1607.06450) over the last dimension. */

import { empty, layerNorm } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { Layer, Parameter } from "./module.js";
import { toFullPrecision } from "./precision.js";

export class LayerNorm extends Layer {
  readonly weight: Parameter;
  readonly bias: Parameter;
  /** This value belongs to the trained network but is not stored with its weights, so a loader may set it. */
  eps: number;

  constructor(
    readonly width: number,
    { eps = 1e-5 } = {},
  ) {
    super();
    this.weight = new Parameter(empty([width]));
    this.bias = new Parameter(empty([width]));
    this.eps = eps;
  }

  protected override reset(_random: Random): void {
    this.weight.fill_(1);
    this.bias.zero_();
  }

  /** [..., width] → [..., width]. The statistics are computed in at least float32. */
  forward(x: Tensor): Tensor {
    const y = layerNorm(toFullPrecision(x), [this.width], this.weight, this.bias, this.eps, true);
    return x.dtype === y.dtype ? y : y.toDType(x.dtype);
  }
}
