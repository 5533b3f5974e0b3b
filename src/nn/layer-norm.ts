/** Layer normalization (Ba et al., 2016, https://arxiv.org/abs/1607.06450) over the last dimension. */

import { empty, fusedLayerNorm, layerNorm } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { usesFusedKernels } from "./fused-kernels.js";
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
    if (usesFusedKernels(x)) {
      const { weight, bias, eps } = this;
      return fusedLayerNorm(x, null, weight, bias, eps, x.dtype === "bfloat16")[0];
    }
    const y = layerNorm(toFullPrecision(x), [this.width], this.weight, this.bias, this.eps, true);
    return x.dtype === y.dtype ? y : y.toDType(x.dtype);
  }

  /**
   * Adds a branch to `x`, if there is one, and normalizes the sum for a matrix product. Continue with the returned sum instead
   * of `x`: with one operator for both, the gradients of the two results are added in the same pass.
   */
  forwardSum(x: Tensor, branch?: Tensor): { normed: Tensor; sum: Tensor } {
    if (usesFusedKernels(x)) {
      const { weight, bias, eps } = this;
      const [normed, sum] = fusedLayerNorm(x, branch ?? null, weight, bias, eps, true);
      return { normed, sum };
    }
    const sum = branch ? x.add(branch) : x;
    return { normed: this.forward(sum), sum };
  }
}
