/** Pooling over the positions of [n, c, h, w]. */

import type { Tensor } from "../engine/tensor.js";
import { Layer } from "./module.js";

export interface PoolOptions {
  /** By default the kernel's size. */
  stride?: number;
  padding?: number;
}

/** A window that moves over the map. */
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
    return x.maxPool2d(this.kernel, this.stride, this.padding);
  }
}

/** The zeros of the padding count, as in PyTorch by default. */
export class AvgPool2d extends Pool2d {
  forward(x: Tensor): Tensor {
    return x.avgPool2d(this.kernel, this.stride, this.padding);
  }
}

/** Averages over as many equal parts as make up the size asked for. */
export class AdaptiveAvgPool2d extends Layer {
  constructor(readonly outputSize: number | readonly [number, number]) {
    super();
  }

  forward(x: Tensor): Tensor {
    return x.adaptiveAvgPool2d(this.outputSize);
  }
}

/** The mean over all positions: [n, c, h, w] → [n, c], taken and returned in float32 at least. */
export function globalAverage(x: Tensor): Tensor {
  const { dtype } = x;
  return x.meanOver([2, 3], false, { dtype: dtype === "bfloat16" || dtype === "float16" ? "float32" : dtype });
}

/** `globalAverage` as a layer. */
export class GlobalAvgPool2d extends Layer {
  forward(x: Tensor): Tensor {
    return globalAverage(x);
  }
}
