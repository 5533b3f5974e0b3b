/**
 * A pre-norm transformer block (Dosovitskiy et al., 2021, https://arxiv.org/abs/2010.11929): x + attention(norm1 x),
 * then x + mlp(norm2 x), with optional layer scale and stochastic depth on both branches. Parameters are named as in
 * timm and DINOv2.
 */

import type { Tensor } from "../engine/tensor.js";
import { GELU, type GeluKind } from "./activation.js";
import { MultiHeadAttention } from "./attention.js";
import { LayerNorm } from "./layer-norm.js";
import { LayerScale } from "./layer-scale.js";
import { Linear } from "./linear.js";
import { linearThenGelu } from "./linear-gelu.js";
import { Layer } from "./module.js";
import { StochasticDepth } from "./stochastic-depth.js";

export interface BlockOptions {
  width: number;
  heads: number;
  /** The width of the hidden layer. The default is four times `width`. */
  hidden?: number;
  eps?: number;
  gelu?: GeluKind;
  layerScale?: boolean;
  /** The probability of dropping a branch in training. */
  stochasticDepth?: number;
}

/** Two linear layers with GELU between them. */
export class FeedForward extends Layer {
  readonly fc1: Linear;
  readonly act: GELU;
  readonly fc2: Linear;

  constructor(width: number, hidden: number, gelu: GeluKind) {
    super();
    this.fc1 = new Linear(width, hidden);
    this.act = new GELU({ kind: gelu });
    this.fc2 = new Linear(hidden, width);
  }

  forward(x: Tensor): Tensor {
    return this.fc2.forward(linearThenGelu(this.fc1, this.act, x));
  }
}

export class TransformerBlock extends Layer {
  readonly norm1: LayerNorm;
  readonly attn: MultiHeadAttention;
  readonly ls1: LayerScale | null;
  readonly norm2: LayerNorm;
  readonly mlp: FeedForward;
  readonly ls2: LayerScale | null;
  readonly stochasticDepth: StochasticDepth;

  constructor(options: BlockOptions) {
    super();
    const { width, heads, hidden = 4 * width, eps = 1e-6, gelu = "exact", layerScale = false } = options;
    this.norm1 = new LayerNorm(width, { eps });
    this.attn = new MultiHeadAttention(width, heads);
    this.ls1 = layerScale ? new LayerScale(width) : null;
    this.norm2 = new LayerNorm(width, { eps });
    this.mlp = new FeedForward(width, hidden, gelu);
    this.ls2 = layerScale ? new LayerScale(width) : null;
    this.stochasticDepth = new StochasticDepth(options.stochasticDepth ?? 0);
  }

  /** [n, tokens, width] → [n, tokens, width]. The sum has the precision of `x`, which is float32 in mixed precision. */
  forward(x: Tensor): Tensor {
    const { normed, sum } = this.norm1.forwardSum(x);
    return this.rest(sum, this.scaled(this.attn.forward(normed), this.ls1));
  }

  /** Computes only the first token's output, [n, 1, width]. */
  forwardFirst(x: Tensor): Tensor {
    const { normed, sum } = this.norm1.forwardSum(x);
    return this.rest(sum.narrow(1, 0, 1), this.scaled(this.attn.forwardFirst(normed), this.ls1));
  }

  /** Adds the branch of the attention, then that of the MLP. */
  private rest(x: Tensor, branch: Tensor): Tensor {
    const { normed, sum } = this.norm2.forwardSum(x, branch);
    return sum.add(this.scaled(this.mlp.forward(normed), this.ls2));
  }

  private scaled(y: Tensor, scale: LayerScale | null): Tensor {
    return this.stochasticDepth.forward(scale ? scale.forward(y) : y);
  }
}
