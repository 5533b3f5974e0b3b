/** Two-dimensional convolution. */

import { conv2d, depthwise, empty, groupedConv, twiceConv2d, wideDepthwise } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { usesFusedKernels } from "./fused-kernels.js";
import { Layer, Parameter } from "./module.js";
import { toComputePrecision } from "./precision.js";
import { needsSecondDerivatives } from "./second-derivatives.js";

export interface ConvOptions {
  kernel: number;
  stride?: number;
  padding?: number;
  groups?: number;
  bias?: boolean;
  /**
   * How `initialize` draws the weight: PyTorch's default, He initialization with fan-out as in torchvision's networks,
   * or a normal distribution with this standard deviation. The last two set the bias to 0.
   */
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

  /** Whether this is a depthwise 3 × 3 convolution, for which there is a custom operator (native/src/depthwise.cc). */
  get isDepthwise3(): boolean {
    const { inputs, outputs, groups, padding } = this;
    return groups === inputs && groups === outputs && padding === 1 && this.weight.shape[2] === 3;
  }

  /** A depthwise 5 × 5 or 7 × 7 convolution that keeps the size of the map (native/src/wide-depthwise.cc). */
  private get isWideDepthwise(): boolean {
    const { inputs, outputs, groups, padding, stride } = this;
    const size = this.weight.shape[2];
    return (
      groups === inputs &&
      groups === outputs &&
      stride === 1 &&
      (size === 5 || size === 7) &&
      padding === (size - 1) / 2
    );
  }

  /** A 1 × 1 convolution of every pixel: a matrix product. */
  private get isPointwise(): boolean {
    return this.weight.shape[2] === 1 && this.stride === 1 && this.padding === 0 && this.groups === 1;
  }

  protected override reset(random: Random): void {
    const [outputs, inputs, kernel] = this.weight.shape;
    if (this.init !== "default") {
      // As in torch.nn.init, fan-out is outputs · kernel² and does not depend on the number of groups.
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

  /** Convolves with another weight and bias of the same shapes, for example with a batch norm folded in. */
  convolve(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
    const [input, kernel] = [toComputePrecision(x), toComputePrecision(weight)];
    if (this.groups > 1 && usesFusedKernels(x)) {
      if (this.isWideDepthwise) return wideDepthwise(input, kernel, bias);
      if (bias === null && this.groups < this.inputs)
        return groupedConv(input, kernel, this.stride, this.padding, this.groups, WIDEST_PART);
    }
    const b = bias && toComputePrecision(bias);
    if (b === null && x.device !== "cpu") {
      if (this.isDepthwise3) return depthwise(input, kernel, this.stride);
      if (this.isPointwise && pointwiseByProduct() && input.isChannelsLast) return productOf(input, kernel);
    }
    if (needsSecondDerivatives()) return twiceConv2d(input, kernel, b, this.stride, this.padding, this.groups);
    return conv2d(input, kernel, b, this.stride, this.padding, 1, this.groups);
  }
}

/**
 * Whether 1 × 1 convolutions with channels last run as matrix products on a GPU: cuBLAS needs no plans, which cuDNN makes for each
 * convolution in every process. `NUDGE_POINTWISE=matmul` or `cudnn` chooses.
 */
const pointwiseByProduct = (): boolean => process.env.NUDGE_POINTWISE === "matmul";

/**
 * The most channels that a grouped convolution computes as one dense convolution (native/src/grouped-conv.cc). On an H200 a
 * step of RegNetY-16GF takes 43.2 ms with 128 and 43.8 ms with 256.
 */
const WIDEST_PART = 128;

/** The 1 × 1 convolution of maps [n, inputs, h, w], channels last, with a kernel [outputs, inputs, 1, 1]; channels last too. */
export function productOf(x: Tensor, kernel: Tensor): Tensor {
  const [n, inputs, height, width] = x.shape;
  const outputs = kernel.rows;
  const pixels = x.permute(0, 2, 3, 1).reshape(-1, inputs); // a view
  return pixels.mm(kernel.view(outputs, inputs).t()).view(n, height, width, outputs).permute(0, 3, 1, 2);
}
