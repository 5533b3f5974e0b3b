/**
 * ResNet-18, -34, -50, -101 and -152 (He et al., 2016) without the classification layer. The features are the global
 * average of the last feature map. Architecture and parameter names are those of torchvision and timm (in ResNet-50 and
 * larger ones the stride is in the 3×3 convolution, "v1.5"). `resnet50_v1` has the strides of the paper and of its
 * original weights: in the first 1×1 convolution of a stage. Names and shapes are equal, so its files must say so.
 *
 * Batch norm is frozen by default, as is common in fine-tuning.
 */

import type { Tensor } from "../engine/tensor.js";
import { BatchNorm2d, convNorm, convNormTwice, useBatchNorm } from "../nn/batch-norm.js";
import { Conv2d } from "../nn/conv.js";
import { ConvNorm } from "../nn/conv-norm.js";
import { Dropout } from "../nn/dropout.js";
import { Layer, Sequential } from "../nn/module.js";
import { globalAverage, MaxPool2d } from "../nn/pooling.js";
import {
  type BackboneOptions,
  defineBackbone,
  type OnStage,
  pictureShape,
  runSteps,
  StagedBackbone,
  stageSteps,
} from "./backbone.js";
import { RESNET50_V1, statedBackbone } from "./backbone-of-weights.js";

const init = "he-fan-out";
/** A 3×3 convolution without bias. */
export const conv3x3 = (inputs: number, outputs: number, stride = 1) =>
  new Conv2d(inputs, outputs, { kernel: 3, stride, padding: 1, bias: false, init });
/** A 1×1 convolution without bias. */
export const conv1x1 = (inputs: number, outputs: number, stride = 1) =>
  new Conv2d(inputs, outputs, { kernel: 1, stride, bias: false, init });

// All operations run in place: the gradients of convolutions and norms do not need their outputs, and the feature map
// of a stage is not modified after `onStage` has received it.

/** Two 3×3 convolutions and a residual connection. */
class BasicBlock extends Layer {
  static readonly expansion = 1;
  readonly conv1: Conv2d;
  readonly bn1: BatchNorm2d;
  readonly conv2: Conv2d;
  readonly bn2: BatchNorm2d;
  readonly downsample: ConvNorm | null;

  constructor(inputs: number, channels: number, stride: number, downsample: ConvNorm | null) {
    super();
    this.conv1 = conv3x3(inputs, channels, stride);
    this.bn1 = new BatchNorm2d(channels);
    this.conv2 = conv3x3(channels, channels);
    this.bn2 = new BatchNorm2d(channels);
    this.downsample = downsample;
  }

  forward(x: Tensor): Tensor {
    return this.twice(x, x)[0];
  }

  twice(x: Tensor, again: Tensor): readonly [Tensor, Tensor] {
    const inner = convNorm(this.conv1, this.bn1, x, { act: "relu" });
    const residual = this.downsample ? { layer: this.downsample, x: again } : again;
    return convNormTwice(this.conv2, this.bn2, inner, { residual, act: "relu" });
  }
}

/** A 1×1 convolution to `channels`, a 3×3 one, a 1×1 one to four times as many channels, and a residual connection. */
class Bottleneck extends Layer {
  static readonly expansion = 4;
  readonly conv1: Conv2d;
  readonly bn1: BatchNorm2d;
  readonly conv2: Conv2d;
  readonly bn2: BatchNorm2d;
  readonly conv3: Conv2d;
  readonly bn3: BatchNorm2d;
  readonly downsample: ConvNorm | null;

  constructor(inputs: number, channels: number, stride: number, downsample: ConvNorm | null, strideFirst: boolean) {
    super();
    this.conv1 = conv1x1(inputs, channels, strideFirst ? stride : 1);
    this.bn1 = new BatchNorm2d(channels);
    this.conv2 = conv3x3(channels, channels, strideFirst ? 1 : stride);
    this.bn2 = new BatchNorm2d(channels);
    this.conv3 = conv1x1(channels, channels * Bottleneck.expansion);
    this.bn3 = new BatchNorm2d(channels * Bottleneck.expansion);
    this.downsample = downsample;
  }

  forward(x: Tensor): Tensor {
    return this.twice(x, x)[0];
  }

  twice(x: Tensor, again: Tensor): readonly [Tensor, Tensor] {
    const narrow = convNorm(this.conv1, this.bn1, x, { act: "relu" });
    const inner = convNorm(this.conv2, this.bn2, narrow, { act: "relu" });
    const residual = this.downsample ? { layer: this.downsample, x: again } : again;
    return convNormTwice(this.conv3, this.bn3, inner, { residual, act: "relu" });
  }
}

const LAYOUTS = {
  resnet18: { Block: BasicBlock, blocks: [2, 2, 2, 2] },
  resnet34: { Block: BasicBlock, blocks: [3, 4, 6, 3] },
  resnet50: { Block: Bottleneck, blocks: [3, 4, 6, 3] },
  resnet101: { Block: Bottleneck, blocks: [3, 4, 23, 3] },
  resnet152: { Block: Bottleneck, blocks: [3, 8, 36, 3] },
  [RESNET50_V1]: { Block: Bottleneck, blocks: [3, 4, 6, 3] },
} as const;

const pool = new MaxPool2d(3, { stride: 2, padding: 1 });

/** Stage 0 is the stem after its max pooling, and stages 1 to 4 are torchvision's `layer1` to `layer4`. */
export class ResNet extends StagedBackbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  override readonly stageChannels: readonly number[];
  readonly conv1: Conv2d;
  readonly bn1: BatchNorm2d;
  readonly layer1: Sequential;
  readonly layer2: Sequential;
  readonly layer3: Sequential;
  readonly layer4: Sequential;
  readonly dropout: Dropout;
  private readonly strideFirst: boolean;

  constructor(id: keyof typeof LAYOUTS, options: BackboneOptions = {}) {
    super();
    this.strideFirst = id === RESNET50_V1;
    const { Block, blocks } = LAYOUTS[id];
    this.inputShape = pictureShape(id, options, [3, 224, 224]);
    this.conv1 = new Conv2d(this.inputShape[0], 64, { kernel: 7, stride: 2, padding: 3, bias: false, init });
    this.bn1 = new BatchNorm2d(64);
    let inputs = 64;
    const stage = (channels: number, count: number, stride: number): Sequential => {
      const outputs = channels * Block.expansion;
      const made = Array.from({ length: count }, (_, i) => {
        const step = i === 0 ? stride : 1;
        const same = step === 1 && inputs === outputs;
        const downsample = same ? null : new ConvNorm(inputs, outputs, { kernel: 1, stride: step, init });
        const block = new Block(inputs, channels, step, downsample, this.strideFirst);
        inputs = outputs;
        return block;
      });
      return new Sequential(...made);
    };
    this.layer1 = stage(64, blocks[0], 1);
    this.layer2 = stage(128, blocks[1], 2);
    this.layer3 = stage(256, blocks[2], 2);
    this.layer4 = stage(512, blocks[3], 2);
    this.width = inputs;
    this.stageChannels = [64, ...[64, 128, 256, 512].map((channels) => channels * Block.expansion)];
    this.dropout = new Dropout(options.dropout ?? 0);
    useBatchNorm(this, options);
  }

  override refuses(metadata: Readonly<Record<string, string>>): string | undefined {
    const isFirst = statedBackbone(metadata) === RESNET50_V1;
    if (isFirst === this.strideFirst) return undefined;
    return isFirst
      ? `they are those of ${RESNET50_V1}, whose strides are in other convolutions than those of this network: use the backbone ${RESNET50_V1}`
      : `the file does not say that it is for ${RESNET50_V1}, whose strides are in the first 1×1 convolutions, and weights under these names usually are for resnet50. ` +
          `Use nudge weights get ${RESNET50_V1}, or write "backbone": "${RESNET50_V1}" into the metadata of a safetensors file`;
  }

  override orderedBlocks(): readonly Layer[] {
    return [this.layer1, this.layer2, this.layer3, this.layer4].flatMap(({ layers }) => layers);
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    const stem = (input: Tensor) => pool.forward(convNorm(this.conv1, this.bn1, input, { act: "relu" }));
    const blocks = [this.layer1, this.layer2, this.layer3, this.layer4].flatMap(({ layers }, i) =>
      stageSteps(layers, i + 1),
    );
    const features = runSteps(x, [{ forward: stem, stage: 0 }, ...blocks, { forward: globalAverage }], onStage);
    return this.dropout.forward(features);
  }
}

const paper = "He et al., Deep Residual Learning for Image Recognition, CVPR 2016, https://arxiv.org/abs/1512.03385";
const define = (
  id: keyof typeof LAYOUTS,
  title: string,
  width: number,
  parameters: number,
  weights = `torchvision's ${id} with the weights IMAGENET1K_V1, a .pth file`,
) =>
  defineBackbone({
    id,
    title,
    paper,
    weights,
    width,
    parameters,
    blocks: LAYOUTS[id].blocks.reduce((sum: number, count) => sum + count, 0),
    channelsLastOnCpu: true, // 1.1 times as fast
    build: (options) => new ResNet(id, options),
  });

export const resnet18 = define("resnet18", "ResNet-18", 512, 11_176_512);
export const resnet34 = define("resnet34", "ResNet-34", 512, 21_284_672);
export const resnet50 = define("resnet50", "ResNet-50", 2048, 23_508_032);
export const resnet101 = define("resnet101", "ResNet-101", 2048, 42_500_160);
export const resnet152 = define("resnet152", "ResNet-152", 2048, 58_143_808);
export const resnet50V1 = define(
  RESNET50_V1,
  "ResNet-50 v1",
  2048,
  23_508_032,
  `the original weights in the file of nudge weights get ${RESNET50_V1}`,
);
