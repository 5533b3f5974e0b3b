/**
 * The image tower of CLIP's ResNet-50 (Radford et al., 2021). It differs from torchvision's ResNet-50 in four ways:
 *
 * - The stem has three 3×3 convolutions and an average pooling.
 * - Convolutions of blocks have no stride. Instead, an average pooling before the last convolution of a block, and
 *   before the convolution of its shortcut, reduces the feature map.
 * - Attention pooling replaces the global average.
 * - The features are in the space shared with texts (the output of `encode_image`), as in the other towers of CLIP.
 *
 * Parameters are named as in OpenAI's code, where all names begin with `visual.`. Batch norm is frozen by default, as in
 * ResNet. Stage 0 is the stem after its pooling, and stages 1 to 4 are `layer1` to `layer4`.
 */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { AttentionPooling } from "../nn/attention-pooling.js";
import { BatchNorm2d, convNorm, useBatchNorm } from "../nn/batch-norm.js";
import type { Conv2d } from "../nn/conv.js";
import { ConvNorm } from "../nn/conv-norm.js";
import { Dropout } from "../nn/dropout.js";
import { Layer, Sequential } from "../nn/module.js";
import { type Grid, resizePositions } from "../nn/position-embedding.js";
import {
  type BackboneOptions,
  defineBackbone,
  type OnStage,
  pictureShape,
  runSteps,
  StagedBackbone,
  stageSteps,
} from "./backbone.js";
import { conv1x1, conv3x3 } from "./resnet.js";

/** The sizes of a network, which its weight file must match. */
export interface ClipResNetLayout {
  /** The number of channels of the stem. */
  readonly width: number;
  /** The number of blocks in each stage. */
  readonly blocks: readonly number[];
  /** The number of heads of the attention pooling. */
  readonly heads: number;
  readonly features: number;
}

export const CLIP_RN50: ClipResNetLayout = { width: 64, blocks: [3, 4, 6, 3], heads: 32, features: 1024 };

const POSITIONS = "attnpool.positional_embedding";
/** How much smaller than the picture the last feature map is. */
export const CLIP_RESNET_STRIDE = 32;
const EXPANSION = 4;
const init = "he-fan-out";

/** A bottleneck block with average pooling in place of strides. */
class ClipBottleneck extends Layer {
  readonly conv1: Conv2d;
  readonly bn1: BatchNorm2d;
  readonly conv2: Conv2d;
  readonly bn2: BatchNorm2d;
  readonly conv3: Conv2d;
  readonly bn3: BatchNorm2d;
  readonly downsample: ConvNorm | null;

  constructor(
    inputs: number,
    channels: number,
    readonly stride: number,
  ) {
    super();
    const outputs = channels * EXPANSION;
    this.conv1 = conv1x1(inputs, channels);
    this.bn1 = new BatchNorm2d(channels);
    this.conv2 = conv3x3(channels, channels);
    this.bn2 = new BatchNorm2d(channels);
    this.conv3 = conv1x1(channels, outputs);
    this.bn3 = new BatchNorm2d(outputs);
    this.downsample = stride > 1 || inputs !== outputs ? new ConvNorm(inputs, outputs, { kernel: 1, init }) : null;
  }

  forward(x: Tensor): Tensor {
    const narrow = convNorm(this.conv1, this.bn1, x, { act: "relu" });
    const inner = this.pooled(convNorm(this.conv2, this.bn2, narrow, { act: "relu" }));
    const residual = this.downsample ? this.downsample.forward(this.pooled(x)) : x;
    return convNorm(this.conv3, this.bn3, inner, { residual, act: "relu" });
  }

  private pooled(map: Tensor): Tensor {
    return this.stride > 1 ? map.avgPool2d(this.stride) : map;
  }
}

export class ClipResNet extends StagedBackbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  override readonly stageChannels: readonly number[];
  readonly conv1: Conv2d;
  readonly bn1: BatchNorm2d;
  readonly conv2: Conv2d;
  readonly bn2: BatchNorm2d;
  readonly conv3: Conv2d;
  readonly bn3: BatchNorm2d;
  readonly layer1: Sequential;
  readonly layer2: Sequential;
  readonly layer3: Sequential;
  readonly layer4: Sequential;
  readonly attnpool: AttentionPooling;
  readonly dropout: Dropout;

  constructor(
    readonly id: string,
    { width, blocks, heads, features }: ClipResNetLayout,
    options: BackboneOptions = {},
  ) {
    super();
    this.inputShape = pictureShape(id, options, [3, 224, 224]);
    this.conv1 = conv3x3(this.inputShape[0], width / 2, 2);
    this.bn1 = new BatchNorm2d(width / 2);
    this.conv2 = conv3x3(width / 2, width / 2);
    this.bn2 = new BatchNorm2d(width / 2);
    this.conv3 = conv3x3(width / 2, width);
    this.bn3 = new BatchNorm2d(width);
    let inputs = width;
    const stage = (channels: number, count: number, stride: number): Sequential => {
      const made = Array.from({ length: count }, (_, i) => {
        const block = new ClipBottleneck(inputs, channels, i === 0 ? stride : 1);
        inputs = channels * EXPANSION;
        return block;
      });
      return new Sequential(...made);
    };
    this.layer1 = stage(width, blocks[0], 1);
    this.layer2 = stage(2 * width, blocks[1], 2);
    this.layer3 = stage(4 * width, blocks[2], 2);
    this.layer4 = stage(8 * width, blocks[3], 2);
    const grid = this.gridOf(this.inputShape);
    const positions = options.variant?.positions ?? "timm";
    this.attnpool = new AttentionPooling({ channels: inputs, features, heads, grid, positions });
    this.width = features;
    this.stageChannels = [width, ...[1, 2, 4, 8].map((times) => times * width * EXPANSION)];
    this.dropout = new Dropout(options.dropout ?? 0);
    useBatchNorm(this, options);
  }

  /** Returns the rows and columns of the last feature map for pictures [.., h, w]. */
  private gridOf(shape: readonly number[]): Grid {
    // The first convolution rounds up, and each of the four average poolings down.
    const [rows, columns] = shape.slice(-2).map((side) => Math.floor(Math.ceil(side / 2) / (CLIP_RESNET_STRIDE / 2)));
    if (rows === 0 || columns === 0)
      throw new UsageError(
        `backbone ${this.id}: pictures of ${shape.slice(-2).join("×")} pixels are too small; ` +
          `take at least ${CLIP_RESNET_STRIDE}×${CLIP_RESNET_STRIDE}`,
      );
    return [rows, columns];
  }

  override orderedBlocks(): readonly Layer[] {
    return [this.layer1, this.layer2, this.layer3, this.layer4].flatMap(({ layers }) => layers);
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    this.gridOf(x.shape);
    const stem = (input: Tensor): Tensor => {
      const first = convNorm(this.conv1, this.bn1, input, { act: "relu" });
      const second = convNorm(this.conv2, this.bn2, first, { act: "relu" });
      return convNorm(this.conv3, this.bn3, second, { act: "relu" }).avgPool2d(2);
    };
    const blocks = [this.layer1, this.layer2, this.layer3, this.layer4].flatMap(({ layers }, i) =>
      stageSteps(layers, i + 1),
    );
    const pool = (map: Tensor): Tensor => this.attnpool.forward(map);
    const features = runSteps(x, [{ forward: stem, stage: 0 }, ...blocks, { forward: pool }], onStage);
    return this.dropout.forward(features);
  }

  /** Returns the tensors of the image tower, with position embeddings for this network's grid. */
  override adopt(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
    const prefix = clipResNetPrefix(tensors.keys());
    if (prefix === undefined) return new Map(tensors);
    const state = new Map<string, Tensor>();
    for (const [name, tensor] of tensors) if (name.startsWith(prefix)) state.set(name.slice(prefix.length), tensor);
    const positions = state.get(POSITIONS)!;
    const side = Math.sqrt(positions.size(0) - 1);
    if (positions.shape.length === 2 && Number.isInteger(side) && side > 0) {
      const { grid: to, positions: rule } = this.attnpool.options;
      const resized = resizePositions(positions.unsqueeze(0), { from: [side, side], to, leading: 1, rule });
      state.set(POSITIONS, resized.squeeze(0));
    }
    return state;
  }
}

/** Returns the prefix of the tensors' names in a file of a CLIP ResNet (`visual.`), or undefined for other networks. */
export function clipResNetPrefix(names: Iterable<string>): string | undefined {
  for (const name of names)
    if (name === POSITIONS || name.endsWith(`.${POSITIONS}`)) return name.slice(0, -POSITIONS.length);
  return undefined;
}

export const clipRn50 = defineBackbone({
  id: "clip_rn50",
  title: "CLIP ResNet-50",
  paper:
    "Radford et al., Learning Transferable Visual Models From Natural Language Supervision, ICML 2021, https://arxiv.org/abs/2103.00020",
  weights: "the weights of OpenAI or open_clip: a .pth, .pt or .safetensors file as published",
  width: CLIP_RN50.features,
  parameters: 38_316_896,
  blocks: CLIP_RN50.blocks.reduce((sum, count) => sum + count, 0),
  build: (options) => new ClipResNet("clip_rn50", CLIP_RN50, options),
});
