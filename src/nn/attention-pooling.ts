/**
 * Attention pooling, as in CLIP's ResNets (Radford et al., 2021, https://arxiv.org/abs/2103.00020): the positions of a
 * feature map become tokens, their mean is an additional token, and the pooled features are the output of multi-head
 * attention for the mean token.
 */

import { cat, empty } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { attention } from "./attention.js";
import { Linear } from "./linear.js";
import { Layer, Parameter } from "./module.js";
import { type Grid, type PositionRule, resizePositions } from "./position-embedding.js";
import { toFullPrecision } from "./precision.js";

export interface AttentionPoolingOptions {
  /** The number of channels of the feature map. */
  readonly channels: number;
  /** The number of pooled features. */
  readonly features: number;
  readonly heads: number;
  /** The rows and columns of the feature map that the position embeddings are for. */
  readonly grid: Grid;
  /** The method for resizing the position embeddings to feature maps of other sizes. */
  readonly positions: PositionRule;
}

/** The parameters are named as in OpenAI's code. */
export class AttentionPooling extends Layer {
  readonly positional_embedding: Parameter; // [1 + rows · columns, channels], the first for the mean token
  readonly k_proj: Linear;
  readonly q_proj: Linear;
  readonly v_proj: Linear;
  readonly c_proj: Linear;

  constructor(readonly options: AttentionPoolingOptions) {
    super();
    const { channels, features, heads, grid } = options;
    if (channels % heads !== 0)
      throw new UsageError(`AttentionPooling: ${channels} channels do not divide into ${heads} heads`);
    this.positional_embedding = new Parameter(empty([1 + grid[0] * grid[1], channels]));
    this.k_proj = new Linear(channels, channels);
    this.q_proj = new Linear(channels, channels);
    this.v_proj = new Linear(channels, channels);
    this.c_proj = new Linear(channels, features);
  }

  protected override reset(random: Random): void {
    random.for("positional_embedding").normal_(this.positional_embedding, 0, this.options.channels ** -0.5);
  }

  /** [n, channels, h, w] → [n, features] */
  forward(map: Tensor): Tensor {
    const { channels, grid, positions: rule } = this.options;
    const [n, , rows, columns] = map.shape;
    const tokens = toFullPrecision(map.flatten(2).transpose(1, 2)); // [n, rows · columns, channels]
    const to: Grid = [rows, columns];
    const positions = resizePositions(this.positional_embedding.unsqueeze(0), { from: grid, to, leading: 1, rule });
    const x = cat([tokens.mean([1], true), tokens], 1).add(positions);
    const first = x.narrow(1, 0, 1);
    const pooled = attention(
      this.byHeads(this.q_proj.forward(first)),
      this.byHeads(this.k_proj.forward(x)),
      this.byHeads(this.v_proj.forward(x)),
    );
    return toFullPrecision(this.c_proj.forward(pooled.reshape(n, channels)));
  }

  /** [n, tokens, channels] → [n, heads, tokens, channels of a head] */
  private byHeads(x: Tensor): Tensor {
    const [n, tokens, channels] = x.shape;
    const { heads } = this.options;
    return x.view(n, tokens, heads, channels / heads).transpose(1, 2);
  }
}
