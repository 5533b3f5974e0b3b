/** Pooling layers for [n, c, h, w]. */

import { channelMean, fusedMaxPool } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { usesFusedKernels } from "./fused-kernels.js";
import { Layer } from "./module.js";

export interface PoolOptions {
  /** The default is the kernel size. */
  stride?: number;
  padding?: number;
}

/** The base class of pooling layers with a sliding window. */
abstract class Pool2d extends Layer {
  readonly stride: number;
  readonly padding: number;

  constructor(
    readonly kernel: number,
    { stride = kernel, padding = 0 }: PoolOptions = {},
  ) {
    super();
    this.stride = stride;
    this.padding = padding;
  }
}

export class MaxPool2d extends Pool2d {
  forward(x: Tensor): Tensor {
    const { kernel, stride, padding } = this;
    if (kernel === 3 && stride === 2 && padding === 1 && usesFusedKernels(x)) return fusedMaxPool(x);
    return x.maxPool2d(kernel, stride, padding);
  }
}

/** Average pooling. As in PyTorch's default, the average includes the zero padding. */
export class AvgPool2d extends Pool2d {
  forward(x: Tensor): Tensor {
    return x.avgPool2d(this.kernel, this.stride, this.padding);
  }
}

/** Average pooling to a given output size. */
export class AdaptiveAvgPool2d extends Layer {
  constructor(readonly outputSize: number | readonly [number, number]) {
    super();
  }

  forward(x: Tensor): Tensor {
    return x.adaptiveAvgPool2d(this.outputSize);
  }
}

/** Global average pooling, [n, c, h, w] → [n, c], computed and returned in at least float32. */
export function globalAverage(x: Tensor): Tensor {
  const { dtype } = x;
  if (dtype === "bfloat16" && usesFusedKernels(x)) return channelMean(x)[0]; // its gradient has the map's layout
  return x.meanOver([2, 3], false, { dtype: dtype === "bfloat16" || dtype === "float16" ? "float32" : dtype });
}

/** `globalAverage` as a layer. */
export class GlobalAvgPool2d extends Layer {
  forward(x: Tensor): Tensor {
    return globalAverage(x);
  }
}
