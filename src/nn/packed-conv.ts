/**
 * Convolutions of a network whose weights no longer change, for prediction on the CPU: XNNPACK arranges each weight once and adds
 * the bias and clamps in the same pass (native/src/packed-conv.cc). MobileNetV2 takes a third less time than with libtorch's usual
 * convolutions. The numbers are the same except for rounding, so this is for predictions and not for records.
 */

import { loadNative } from "../engine/load.js";
import { Tensor } from "../engine/tensor.js";
import { handle } from "../engine/wrap.js";
import type { Conv2d } from "./conv.js";

/** The weight and bias of a convolution with the following batch norm folded in. */
export interface Fold {
  readonly weight: Tensor;
  readonly bias: Tensor;
}

/** The range that the result is clamped to. */
export type Range = readonly [low: number, high: number];

interface Pack {
  readonly range: Range;
  /** The addon's number for it; undefined if this libtorch has no XNNPACK. */
  readonly convolution: number | undefined;
}

let current: PackedConvs | undefined;

/** The packed convolutions that apply now. */
export const packedConvs = (): PackedConvs | undefined => current;

export class PackedConvs implements Disposable {
  private readonly packs = new Map<Conv2d, Pack>();

  /** Runs `body`, which must not be async, with packed convolutions where `convNorm` can use them. */
  run<T>(body: () => T): T {
    const before = current;
    current = this;
    try {
      return body();
    } finally {
      current = before;
    }
  }

  /** The clamped convolution of x, or undefined if x or this libtorch does not allow it. `fold` is called once per layer. */
  convolve(conv: Conv2d, x: Tensor, range: Range, fold: () => Fold): Tensor | undefined {
    if (x.device !== "cpu" || x.dtype !== "float32" || x.shape.length !== 4 || x.numel === 0) return undefined;
    const { range: known, convolution } = this.packs.get(conv) ?? this.pack(conv, range, fold);
    if (convolution === undefined || known[0] !== range[0] || known[1] !== range[1]) return undefined;
    return new Tensor(loadNative().packedConv(handle(x), convolution));
  }

  private pack(conv: Conv2d, range: Range, fold: () => Fold): Pack {
    const { weight, bias } = fold();
    const { stride, padding, groups } = conv;
    const convolution = loadNative().packConv(handle(weight), handle(bias), stride, padding, groups, ...range);
    const pack = { range, convolution };
    this.packs.set(conv, pack);
    return pack;
  }

  [Symbol.dispose](): void {
    for (const { convolution } of this.packs.values())
      if (convolution !== undefined) loadNative().freePackedConv(convolution);
    this.packs.clear();
  }
}
