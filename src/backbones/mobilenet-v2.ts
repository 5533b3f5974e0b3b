/**
 * MobileNetV2 (Sandler et al., 2018) with width 1.0 and without the classifier. The features are the global average of
 * the last feature map. Architecture and parameter names are torchvision's. Batch norm is frozen by default.
 */

import type { Tensor } from "../engine/tensor.js";
import { BatchNorm2d, convNorm, useBatchNorm } from "../nn/batch-norm.js";
import { Conv2d } from "../nn/conv.js";
import { ConvNorm } from "../nn/conv-norm.js";
import { Dropout } from "../nn/dropout.js";
import { Layer, Sequential } from "../nn/module.js";
import { globalAverage } from "../nn/pooling.js";
import {
  type BackboneOptions,
  defineBackbone,
  type OnStage,
  pictureShape,
  runSteps,
  StagedBackbone,
  type Step,
} from "./backbone.js";

const init = "he-fan-out";
const ID = "mobilenet_v2";

/**
 * A 1×1 expansion to `expansion` times the channels, a depthwise 3×3 convolution, a 1×1 projection, and a residual
 * connection.
 */
class InvertedResidual extends Layer {
  readonly conv: Sequential;
  // The layers of `conv`, in the parts in which they run. The names follow torchvision, where the last two are not a
  // pair.
  readonly #wide: readonly Layer[];
  readonly #project: Conv2d;
  readonly #norm: BatchNorm2d;
  readonly #hasResidual: boolean;

  constructor(inputs: number, outputs: number, stride: number, expansion: number) {
    super();
    const hidden = inputs * expansion;
    const depthwise = { kernel: 3, stride, padding: 1, groups: hidden, init, act: "relu6" } as const;
    this.#wide = [
      ...(expansion === 1 ? [] : [new ConvNorm(inputs, hidden, { kernel: 1, init, act: "relu6" })]),
      new ConvNorm(hidden, hidden, depthwise),
    ];
    this.#project = new Conv2d(hidden, outputs, { kernel: 1, bias: false, init });
    this.#norm = new BatchNorm2d(outputs);
    this.conv = new Sequential(...this.#wide, this.#project, this.#norm);
    this.#hasResidual = stride === 1 && inputs === outputs;
  }

  forward(x: Tensor): Tensor {
    const wide = this.#wide.reduce((value, layer) => layer.forward(value), x);
    return convNorm(this.#project, this.#norm, wide, { residual: this.#hasResidual ? x : undefined });
  }
}

/** Expansion, channels, number of blocks, and the stride of the first block (Table 2 of the paper). */
const GROUPS = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const;

const BLOCKS = GROUPS.flatMap(([expansion, channels, count, first]) =>
  Array.from({ length: count }, (_, i) => ({ expansion, channels, stride: i === 0 ? first : 1 })),
);

/** The last block of each stage: the blocks before the feature map gets smaller, and the last one. */
const STAGE_ENDS = BLOCKS.flatMap((_, i) => (BLOCKS[i + 1]?.stride === 1 ? [] : [i]));

/** Stages 0 to 4, with 16, 24, 32, 96 and 320 channels, end before each block with stride 2 and with the last block. */
export class MobileNetV2 extends StagedBackbone {
  readonly width = 1280;
  readonly inputShape: readonly number[];
  override readonly stageChannels = STAGE_ENDS.map((i) => BLOCKS[i].channels);
  readonly features: Sequential;
  readonly dropout: Dropout;

  constructor(options: BackboneOptions = {}) {
    super();
    this.inputShape = pictureShape(ID, options, [3, 224, 224]);
    let inputs = 32;
    const blocks = BLOCKS.map(({ expansion, channels, stride }) => {
      const block = new InvertedResidual(inputs, channels, stride, expansion);
      inputs = channels;
      return block;
    });
    this.features = new Sequential(
      new ConvNorm(this.inputShape[0], 32, { kernel: 3, stride: 2, padding: 1, init, act: "relu6" }),
      ...blocks,
      new ConvNorm(inputs, this.width, { kernel: 1, init, act: "relu6" }),
    );
    this.dropout = new Dropout(options.dropout ?? 0);
    useBatchNorm(this, options);
  }

  override orderedBlocks(): readonly Layer[] {
    return this.features.layers.slice(1, -1);
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    const steps = this.features.layers.map((layer, i): Step => {
      const stage = STAGE_ENDS.indexOf(i - 1); // layer 0 is the stem
      return { forward: (map) => layer.forward(map), stage: stage < 0 ? undefined : stage };
    });
    return this.dropout.forward(runSteps(x, [...steps, { forward: globalAverage }], onStage));
  }
}

export const mobilenetV2 = defineBackbone({
  id: ID,
  title: "MobileNetV2",
  paper:
    "Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks, CVPR 2018, https://arxiv.org/abs/1801.04381",
  weights: "torchvision's mobilenet_v2 with the weights IMAGENET1K_V1, a .pth file",
  width: 1280,
  parameters: 2_223_872,
  blocks: BLOCKS.length,
  channelsLastOnCpu: true, // 1.3 times as fast
  build: (options) => new MobileNetV2(options),
});
