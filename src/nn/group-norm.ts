/**
 * Group normalization (Wu & He, 2018). It normalizes each sample over groups of its channels, so it does not depend on
 * the batch or on the training mode.
 */

import { empty, groupNorm } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Layer, Parameter } from "./module.js";
import { toFullPrecision } from "./precision.js";

export class GroupNorm extends Layer {
  readonly weight: Parameter;
  readonly bias: Parameter;
  readonly eps: number;

  constructor(
    readonly groups: number,
    readonly channels: number,
    { eps = 1e-5 } = {},
  ) {
    super();
    if (channels % groups !== 0) {
      throw new UsageError(`GroupNorm: ${channels} channels do not divide into ${groups} groups`);
    }
    this.weight = new Parameter(empty([channels]));
    this.bias = new Parameter(empty([channels]));
    this.eps = eps;
  }

  protected override reset(_random: Random): void {
    this.weight.fill_(1);
    this.bias.zero_();
  }

  forward(x: Tensor): Tensor {
    const y = groupNorm(toFullPrecision(x), this.groups, this.weight, this.bias, this.eps, true);
    return x.dtype === y.dtype ? y : y.toDType(x.dtype);
  }
}
