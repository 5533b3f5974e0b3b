/** A linear layer, y = x·Wᵀ + b. */

import { empty, fusedLinear, linear } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { usesFusedKernels } from "./fused-kernels.js";
import type { Lora } from "./lora.js";
import { Layer, Parameter } from "./module.js";
import { toComputePrecision } from "./precision.js";

export class Linear extends Layer {
  readonly weight: Parameter; // [outputs, inputs]
  readonly bias: Parameter | null;
  /** A low-rank adapter that is trained while the weight stays fixed (lora.ts). */
  lora: Lora | null = null;

  constructor(
    readonly inputs: number,
    readonly outputs: number,
    { bias = true } = {},
  ) {
    super();
    this.weight = new Parameter(empty([outputs, inputs]));
    this.bias = bias ? new Parameter(empty([outputs])) : null;
  }

  /** Uses PyTorch's default: U(±1/√inputs) for weight and bias. */
  protected override reset(random: Random): void {
    const bound = 1 / Math.sqrt(this.inputs);
    random.for("weight").uniform_(this.weight, -bound, bound);
    if (this.bias) random.for("bias").uniform_(this.bias, -bound, bound);
  }

  /** Computes only `count` outputs, starting at `from`. */
  part(x: Tensor, from: number, count: number): Tensor {
    if (this.lora) return this.forward(x).narrow(-1, from, count);
    return product(x, this.weight.narrow(0, from, count), this.bias?.narrow(0, from, count) ?? null);
  }

  forward(x: Tensor): Tensor {
    const y = product(x, this.weight, this.bias);
    return this.lora ? y.add(this.lora.forward(x)) : y;
  }
}

/** x·Wᵀ + b in the precision of matrix products. */
function product(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  const [input, matrix, shift] = [toComputePrecision(x), toComputePrecision(weight), bias && toComputePrecision(bias)];
  return shift && usesFusedKernels(x) ? fusedLinear(input, matrix, shift) : linear(input, matrix, shift);
}
