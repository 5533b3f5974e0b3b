/**
 * Vision transformers: a picture is divided into patches, each of which becomes a token, and transformer blocks process
 * the tokens (Dosovitskiy et al., 2021). ViT, DINOv2 and the image towers of CLIP are one network with small
 * differences:
 *
 * - DINOv2 has layer scale on the branches of its blocks, and its variant with registers has four additional tokens.
 * - CLIP has no bias in the patch embedding, a layer norm before the blocks, and a linear projection after the last
 *   one.
 *
 * The features are the class token after the last layer norm (and, for CLIP, after the projection into the space shared
 * with texts: the output of `encode_image`, which MIRO's authors train on). Parameters are named as in timm and DINOv2,
 * and files with other names can be loaded too (transformer-names.ts).
 *
 * For methods that use stages, stage 0 is the feature map of patches [n, width, rows, columns]. Stages 1 to 4 end with
 * each quarter of the blocks and contain all tokens, [n, width, tokens, 1], as in MIRO's code.
 */

import { cat, empty } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import type { GeluKind } from "../nn/activation.js";
import { Conv2d } from "../nn/conv.js";
import { Dropout } from "../nn/dropout.js";
import { LayerNorm } from "../nn/layer-norm.js";
import { Linear } from "../nn/linear.js";
import { Layer, Parameter, Sequential } from "../nn/module.js";
import { type Grid, type PositionRule, resizePositions } from "../nn/position-embedding.js";
import { toFullPrecision } from "../nn/precision.js";
import { stochasticDepthRates } from "../nn/stochastic-depth.js";
import { TransformerBlock } from "../nn/transformer-block.js";
import { type BackboneOptions, type OnStage, pictureShape, runSteps, StagedBackbone, type Step } from "./backbone.js";
import { namedAsTransformer } from "./transformer-names.js";

/** The sizes of a network, which its weight file must match. */
export interface TransformerLayout {
  readonly width: number;
  readonly depth: number;
  readonly heads: number;
  /** The side length of a patch in pixels. */
  readonly patch: number;
  /** The side length of the pictures for which the position embeddings are published. */
  readonly side: number;
  readonly registers?: number;
  readonly layerScale?: boolean;
  /** The number of features of CLIP: the width of the space shared by pictures and texts. */
  readonly projection?: number;
  /** The defaults, which the weights can override. */
  readonly variant: TransformerVariant;
}

/** Properties that differ between publishers of the same network and are not stored in its tensors. */
export interface TransformerVariant {
  /** The epsilon of the layer norms. */
  readonly eps: number;
  readonly gelu: GeluKind;
  /** The method for resizing position embeddings to other image sizes. */
  readonly positions: PositionRule;
}

const STAGES = 4;

/** The convolution that converts patches to tokens. Its name in files is `patch_embed.proj`. */
class PatchEmbedding extends Layer {
  readonly proj: Conv2d;

  constructor(
    readonly channels: number,
    width: number,
    patch: number,
    bias: boolean,
  ) {
    super();
    this.proj = new Conv2d(channels, width, { kernel: patch, stride: patch, bias });
  }

  /** [n, channels, h, w] → [n, width, rows, columns] */
  forward(x: Tensor): Tensor {
    return this.proj.forward(x);
  }
}

export class VisionTransformer extends StagedBackbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  override readonly stageChannels: readonly number[];
  override readonly stagesAreMaps = false;
  readonly cls_token: Parameter; // [1, 1, width]
  readonly pos_embed: Parameter; // [1, 1 + patches, width]
  readonly register_tokens: Parameter | null; // [1, registers, width]
  readonly patch_embed: PatchEmbedding;
  readonly norm_pre: LayerNorm | null;
  readonly blocks: Sequential;
  readonly norm: LayerNorm;
  readonly projection: Linear | null;
  readonly dropout: Dropout;
  readonly variant: TransformerVariant;

  constructor(
    readonly id: string,
    readonly layout: TransformerLayout,
    options: BackboneOptions = {},
  ) {
    super();
    const { width, depth, heads, patch, side, registers = 0, layerScale, projection } = layout;
    this.inputShape = pictureShape(id, options, [3, side, side]);
    this.variant = { ...layout.variant, ...options.variant };
    const { eps, gelu } = this.variant;
    const isClip = projection !== undefined;
    const [rows, columns] = this.gridOf(this.inputShape);
    this.cls_token = new Parameter(empty([1, 1, width]));
    this.pos_embed = new Parameter(empty([1, 1 + rows * columns, width]));
    this.register_tokens = registers > 0 ? new Parameter(empty([1, registers, width])) : null;
    this.patch_embed = new PatchEmbedding(this.inputShape[0], width, patch, !isClip);
    this.norm_pre = isClip ? new LayerNorm(width, { eps }) : null;
    const rates = stochasticDepthRates(options.stochasticDepth ?? 0, depth);
    this.blocks = new Sequential(
      ...rates.map((rate) => new TransformerBlock({ width, heads, eps, gelu, layerScale, stochasticDepth: rate })),
    );
    this.norm = new LayerNorm(width, { eps });
    this.projection = isClip ? new Linear(width, projection, { bias: false }) : null;
    this.dropout = new Dropout(options.dropout ?? 0);
    this.width = projection ?? width;
    this.stageChannels = Array.from({ length: STAGES + 1 }, () => width);
  }

  /** Returns the grid of patches of a picture [.., h, w]. */
  private gridOf(shape: readonly number[]): Grid {
    const [height, width] = shape.slice(-2);
    const { patch } = this.layout;
    if (height % patch !== 0 || width % patch !== 0) {
      const near = Math.max(1, Math.round(Math.min(height, width) / patch)) * patch;
      throw new UsageError(
        `backbone ${this.id}: pictures of ${height}×${width} pixels do not divide into patches of ${patch}×${patch}; ` +
          `take a multiple of ${patch}, such as ${near}`,
      );
    }
    return [height / patch, width / patch];
  }

  /** Initializes as the papers' code does: 0.02 for positions and linear layers, almost 0 for the additional tokens. */
  protected override reset(random: Random): void {
    random.for("pos_embed").normal_(this.pos_embed, 0, 0.02);
    random.for("cls_token").normal_(this.cls_token, 0, 1e-6);
    if (this.register_tokens) random.for("register_tokens").normal_(this.register_tokens, 0, 1e-6);
  }

  override initialize(random: Random): this {
    super.initialize(random);
    noGrad(() => {
      for (const [name, layer] of this.modules()) {
        if (!(layer instanceof Linear)) continue;
        layer.bias?.zero_();
        random.for(name, "weight").normal_(layer.weight, 0, 0.02);
      }
    });
    return this;
  }

  override orderedBlocks(): readonly Layer[] {
    return this.blocks.layers;
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    const grid = this.gridOf(x.shape);
    const { layers } = this.blocks;
    const steps: Step[] = [
      { forward: (pictures) => this.patch_embed.forward(pictures), stage: 0 },
      { forward: (map) => this.tokens(map, grid) },
      ...layers.map((block, i): Step => {
        const stage = ((i + 1) * STAGES) % layers.length === 0 ? ((i + 1) * STAGES) / layers.length : undefined;
        // If `onStage` is not given, only the class token of the last block is needed.
        const isLast = i === layers.length - 1 && onStage === undefined && block instanceof TransformerBlock;
        return { forward: (tokens) => (isLast ? block.forwardFirst(tokens) : block.forward(tokens)), stage };
      }),
      { forward: (tokens) => this.features(tokens) },
    ];
    // `onStage` receives maps with the channels as the second dimension. The next block receives tokens again.
    const shown =
      onStage &&
      ((map: Tensor, stage: number): Tensor =>
        stage === 0
          ? onStage(map, stage)
          : onStage(map.transpose(1, 2).unsqueeze(3), stage).squeeze(3).transpose(1, 2));
    return this.dropout.forward(runSteps(x, steps, shown));
  }

  /** Returns the tokens before the blocks, [n, 1 + registers + patches, width]. */
  private tokens(map: Tensor, grid: Grid): Tensor {
    const [n] = map.shape;
    const patches = toFullPrecision(map.flatten(2).transpose(1, 2)); // [n, patches, width]
    const positions = resizePositions(this.pos_embed, {
      from: this.gridOf(this.inputShape),
      to: grid,
      leading: 1,
      rule: this.variant.positions,
    });
    // Add the positions before concatenating the tokens, which saves a copy of all tokens.
    const first = this.cls_token.add(positions.narrow(1, 0, 1)).expand([n, -1, -1]);
    const rest = patches.add(positions.narrow(1, 1, positions.size(1) - 1));
    const parts = this.register_tokens ? [first, this.register_tokens.expand([n, -1, -1]), rest] : [first, rest];
    const tokens = cat(parts, 1);
    return this.norm_pre ? this.norm_pre.forward(tokens) : tokens;
  }

  private features(tokens: Tensor): Tensor {
    // Only the class token is needed, and layer norm processes each token separately.
    const features = this.norm.forward(tokens.select(1, 0));
    return toFullPrecision(this.projection ? this.projection.forward(features) : features);
  }

  /**
   * Converts the tensors of a published file to this network's names, with position embeddings for this network's grid.
   */
  override adopt(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
    const state = namedAsTransformer(tensors);
    const positions = state.get("pos_embed");
    const to = this.gridOf(this.inputShape);
    if (positions?.shape.length === 3) {
      const side = Math.sqrt(positions.size(1) - 1);
      if (Number.isInteger(side) && side > 0)
        state.set(
          "pos_embed",
          resizePositions(positions, { from: [side, side], to, leading: 1, rule: this.variant.positions }),
        );
    }
    return state;
  }
}
