/** Two-dimensional convolution. */

import { conv2d, depthwise, empty } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Layer, Parameter } from "./module.js";
import { toComputePrecision } from "./precision.js";

export interface ConvOptions {
  kernel: number;
  stride?: number;
  padding?: number;
  groups?: number;
  bias?: boolean;
  /** How `initialize` draws the weight: PyTorch's default, He's by fan-out as torchvision's networks do, or with a standard deviation (the last two with bias 0). */
  init?: ConvInit;
}

export type ConvInit = "default" | "he-fan-out" | number;

export class Conv2d extends Layer {
  readonly weight: Parameter; // [outputs, inputs / groups, kernel, kernel]
  readonly bias: Parameter | null;
  readonly stride: number;
  readonly padding: number;
  readonly groups: number;
  private readonly init: ConvInit;

  constructor(
    readonly inputs: number,
    readonly outputs: number,
    { kernel, stride = 1, padding = 0, groups = 1, bias = true, init = "default" }: ConvOptions,
  ) {
    super();
    if (inputs % groups !== 0 || outputs % groups !== 0) {
      throw new UsageError(`Conv2d: ${inputs} inputs and ${outputs} outputs do not divide into ${groups} groups`);
    }
    this.weight = new Parameter(empty([outputs, inputs / groups, kernel, kernel]));
    this.bias = bias ? new Parameter(empty([outputs])) : null;
    this.stride = stride;
    this.padding = padding;
    this.groups = groups;
    this.init = init;
  }

  /** A depthwise 3 × 3 convolution, for which there is an operator of our own (native/src/depthwise.cc). */
  private get isDepthwise3(): boolean {
    const { inputs, outputs, groups, padding } = this;
    return groups === inputs && groups === outputs && padding === 1 && this.weight.shape[2] === 3;
  }

  protected override reset(random: Random): void {
    const [outputs, inputs, kernel] = this.weight.shape;
    if (this.init !== "default") {
      // Fan-out counts the outputs of a group's channel, as torch.nn.init does: outputs · kernel², without the groups.
      const std = this.init === "he-fan-out" ? Math.sqrt(2 / (outputs * kernel * kernel)) : this.init;
      random.for("weight").normal_(this.weight, 0, std);
      this.bias?.zero_();
      return;
    }
    const bound = 1 / Math.sqrt(inputs * kernel * kernel);
    random.for("weight").uniform_(this.weight, -bound, bound);
    if (this.bias) random.for("bias").uniform_(this.bias, -bound, bound);
  }

  forward(x: Tensor): Tensor {
    return this.convolve(x, this.weight, this.bias);
  }

  /** The convolution with another weight and bias of the same shapes: a batch norm folded in. */
  convolve(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
    const b = bias && toComputePrecision(bias);
    if (b === null && x.device !== "cpu" && this.isDepthwise3)
      return depthwise(toComputePrecision(x), toComputePrecision(weight), this.stride);
    return conv2d(toComputePrecision(x), toComputePrecision(weight), b, this.stride, this.padding, 1, this.groups);
  }
}
