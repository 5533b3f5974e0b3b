/**
 * Multi-head self-attention (Vaswani et al., 2017, https://arxiv.org/abs/1706.03762): softmax(q·kᵀ/√d)·v in each head.
 *
 * libtorch 2.0 and later have a fused operator that avoids the [tokens, tokens] matrices. It has no second derivative,
 * so the composed version is used inside `withSecondDerivatives` (IGA). libtorch 1.13 only has the composed version. The two agree up to rounding.
 */

import { loadNative } from "../engine/load.js";
import { call } from "../engine/operator.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Linear } from "./linear.js";
import { Layer } from "./module.js";
import { toFullPrecision } from "./precision.js";
import { needsSecondDerivatives } from "./second-derivatives.js";

const FUSED = "aten::scaled_dot_product_attention";

let known: boolean | undefined;

/** Returns true if this version of libtorch has the fused operator. */
export function hasFusedAttention(): boolean {
  known ??= loadNative().overloads(FUSED).length > 0;
  return known;
}

/**
 * Multi-head self-attention. As in timm and DINOv2, the parameters are named `qkv` (rows of q, then k, then v, each
 * ordered by head) and `proj`.
 */
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

  /** [n, tokens, width] → [n, tokens, width] */
  forward(x: Tensor): Tensor {
    const [n, tokens] = x.shape;
    const [q, k, v] = this.byHeads(this.qkv.forward(x), 3);
    return this.proj.forward(attention(q, k, v).transpose(1, 2).reshape(n, tokens, this.width));
  }

  /** Computes only the first token's output, [n, 1, width]. The last block uses it if only the class token is read. */
  forwardFirst(x: Tensor): Tensor {
    const { width } = this;
    const [q] = this.byHeads(this.qkv.part(x.narrow(1, 0, 1), 0, width), 1);
    const [k, v] = this.byHeads(this.qkv.part(x, width, 2 * width), 2);
    return this.proj.forward(attention(q, k, v).transpose(1, 2).reshape(x.rows, 1, width));
  }

  /**
   * Splits [n, tokens, parts · width] into parts of shape [n, heads, tokens, width of a head]. The gradient of `unbind`
   * is one copy. With `select`, each part's gradient would be padded with zeros to the full size, and the three added.
   */
  private byHeads(x: Tensor, parts: number): Tensor[] {
    const [n, tokens] = x.shape;
    const { heads, width } = this;
    const split = x.view(n, tokens, parts, heads, width / heads).unbind(2);
    return split.map((part) => part.transpose(1, 2));
  }
}

/** Queries [n, heads, m, d], keys and values [n, heads, tokens, d] → [n, heads, m, d]. */
export function attention(q: Tensor, k: Tensor, v: Tensor): Tensor {
  if (needsSecondDerivatives() || !hasFusedAttention()) return composedAttention(q, k, v);
  return call(FUSED, q, k, v, null, 0, false) as Tensor;
}

function composedAttention(...parts: [q: Tensor, k: Tensor, v: Tensor]): Tensor {
  const [n, heads, rows, d] = parts[0].shape;
  const [q, k, v] = parts.map((each) => each.reshape(n * heads, each.size(2), d));
  // Scale q before the product, because it has fewer elements. (baddbmm could scale, but with beta 0 libtorch 1.13
  // reads uninitialized memory.)
  const scores = q.mul(1 / Math.sqrt(d)).bmm(k.transpose(1, 2));
  const weights = toFullPrecision(scores).softmax(-1).toDType(v.dtype);
  return weights.bmm(v).view(n, heads, rows, d);
}
