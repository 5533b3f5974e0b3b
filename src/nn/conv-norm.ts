/**
 * A convolution and its batch norm as one layer, with an optional activation. The parameter names are torchvision's: 0
 * and 1.
 */

import type { Tensor } from "../engine/tensor.js";
import { type After, BatchNorm2d, convNorm } from "./batch-norm.js";
import { Conv2d, type ConvOptions } from "./conv.js";
import { Sequential } from "./module.js";

export class ConvNorm extends Sequential {
  readonly conv: Conv2d;
  readonly norm: BatchNorm2d;
  readonly act: After["act"];

  /** The convolution has no bias, because the norm would subtract it. */
  constructor(
    inputs: number,
    outputs: number,
    { act, ...options }: Omit<ConvOptions, "bias"> & { readonly act?: After["act"] },
  ) {
    const conv = new Conv2d(inputs, outputs, { ...options, bias: false });
    const norm = new BatchNorm2d(outputs);
    super(conv, norm);
    this.conv = conv;
    this.norm = norm;
    this.act = act;
  }

  override forward(x: Tensor, after: After = {}): Tensor {
    return convNorm(this.conv, this.norm, x, { act: this.act, ...after });
  }
}
