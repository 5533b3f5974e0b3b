/**
 * Multi-head self-attention (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762), softmax(q·kᵀ/√d)·v in each head.
 *
 * From libtorch 2.0 on, one fused operator computes it without the [tokens, tokens] matrices. That operator has no second
 * derivative, so methods that differentiate a gradient (IGA) run with `withComposedAttention`; libtorch 1.13 has only the
 * composition. The two agree but for rounding.
 */

import { loadNative } from "../engine/load.js";
import { call } from "../engine/operator.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Linear } from "./linear.js";
import { Layer } from "./module.js";
import { toFullPrecision } from "./precision.js";

const FUSED = "aten::scaled_dot_product_attention";

let composed = false;
let known: boolean | undefined;

/** Whether this libtorch has the fused operator. */
export function hasFusedAttention(): boolean {
  known ??= loadNative().overloads(FUSED).length > 0;
  return known;
}

/** Runs `body` with attention composed of products and a softmax, which can be differentiated twice. */
export function withComposedAttention<T>(body: () => T): T {
  const before = composed;
  composed = true;
  try {
    return body();
  } finally {
    composed = before;
  }
}

/** The layer: parameters `qkv` (rows of q, then k, then v, each by heads) and `proj`, as timm and DINOv2 name them. */
export class MultiHeadAttention extends Layer {
  readonly qkv: Linear;
  readonly proj: Linear;

  constructor(
    readonly width: number,
    readonly heads: number,
  ) {
    super();
    if (width % heads !== 0)
      throw new UsageError(`MultiHeadAttention: a width of ${width} does not divide into ${heads} heads`);
    this.qkv = new Linear(width, 3 * width);
    this.proj = new Linear(width, width);
  }

  /** [n, tokens, width] → the same. */
  forward(x: Tensor): Tensor {
    const [n, tokens] = x.shape;
    const { heads, width } = this;
    const parts = this.qkv
      .forward(x)
      .view(n, tokens, 3, heads, width / heads)
      .permute([2, 0, 3, 1, 4]); // [3, n, heads, tokens, width of a head]
    const mixed = composed || !hasFusedAttention() ? composedAttention(parts) : fusedAttention(parts);
    return this.proj.forward(mixed.transpose(1, 2).reshape(n, tokens, width));
  }
}

/** [3, n, heads, tokens, d] → [n, heads, tokens, d] */
function fusedAttention(parts: Tensor): Tensor {
  return call(FUSED, parts.select(0, 0), parts.select(0, 1), parts.select(0, 2), null, 0, false) as Tensor;
}

function composedAttention(parts: Tensor): Tensor {
  const [, n, heads, tokens, d] = parts.shape;
  const together = parts.reshape(3, n * heads, tokens, d);
  const [q, k, v] = [0, 1, 2].map((i) => together.select(0, i));
  // Scaled before the product, where there are fewer numbers. (baddbmm could scale, but with beta 0 libtorch 1.13 reads memory
  // that was never written.)
  const scores = q.mul(1 / Math.sqrt(d)).bmm(k.transpose(1, 2));
  const weights = toFullPrecision(scores).softmax(-1).toDType(v.dtype);
  return weights.bmm(v).view(n, heads, tokens, d);
}
