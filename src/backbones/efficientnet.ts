/**
 * EfficientNet B0 to B4 (Tan & Le, 2019) without the classifier. The features are the global average of the last
 * feature map. Architecture and parameter names are torchvision's. Batch norm is frozen by default. Stochastic depth
 * drops the branch of block k of K with probability p·k/K.
 */

import type { Tensor } from "../engine/tensor.js";
import { useBatchNorm } from "../nn/batch-norm.js";
import { ConvNorm } from "../nn/conv-norm.js";
import { Dropout } from "../nn/dropout.js";
import { Layer, Sequential } from "../nn/module.js";
import { globalAverage } from "../nn/pooling.js";
import { SqueezeExcitation } from "../nn/squeeze-excitation.js";
import { StochasticDepth } from "../nn/stochastic-depth.js";
import {
  type BackboneOptions,
  defineBackbone,
  type OnStage,
  pictureShape,
  runSteps,
  StagedBackbone,
  type Step,
} from "./backbone.js";
import { namedAsConvolutional } from "./convolutional-names.js";

const init = "he-fan-out";

interface BlockShape {
  readonly inputs: number;
  readonly outputs: number;
  readonly expansion: number;
  readonly kernel: number;
  readonly stride: number;
}

/** A 1×1 expansion, a depthwise convolution, squeeze-and-excitation, a 1×1 projection, and a residual connection. */
class MBConv extends Layer {
  readonly block: Sequential;
  // The layers of `block`, in the parts in which they run.
  readonly #wide: readonly Layer[];
  readonly #project: ConvNorm;
  readonly #hasResidual: boolean;
  readonly stochasticDepth: StochasticDepth;

  constructor({ inputs, outputs, expansion, kernel, stride }: BlockShape, dropRate: number) {
    super();
    const hidden = inputs * expansion;
    const depthwise = { kernel, stride, padding: (kernel - 1) / 2, groups: hidden, init, act: "silu" } as const;
    this.#wide = [
      ...(expansion === 1 ? [] : [new ConvNorm(inputs, hidden, { kernel: 1, init, act: "silu" })]),
      new ConvNorm(hidden, hidden, depthwise),
      new SqueezeExcitation(hidden, Math.max(1, Math.floor(inputs / 4)), "silu"),
    ];
    this.#project = new ConvNorm(hidden, outputs, { kernel: 1, init });
    this.block = new Sequential(...this.#wide, this.#project);
    this.#hasResidual = stride === 1 && inputs === outputs;
    this.stochasticDepth = new StochasticDepth(dropRate);
  }

  forward(x: Tensor): Tensor {
    const wide = this.#wide.reduce((value, layer) => layer.forward(value), x);
    if (!this.#hasResidual) return this.#project.forward(wide);
    if (!this.stochasticDepth.active) return this.#project.forward(wide, { residual: x });
    return this.stochasticDepth.forward(this.#project.forward(wide)).add_(x);
  }
}

/** Expansion, kernel size, stride of the first block, channels and number of blocks of B0 (Table 1 of the paper). */
const STAGES = [
  [1, 3, 1, 16, 1],
  [6, 3, 2, 24, 2],
  [6, 5, 2, 40, 2],
  [6, 3, 2, 80, 3],
  [6, 5, 1, 112, 3],
  [6, 5, 2, 192, 4],
  [6, 3, 1, 320, 1],
] as const;

/** The factors for B0's widths and depths, and the height and width of the pictures that each was trained on. */
const SIZES = {
  efficientnet_b0: { width: 1, depth: 1, side: 224 },
  efficientnet_b1: { width: 1, depth: 1.1, side: 240 },
  efficientnet_b2: { width: 1.1, depth: 1.2, side: 288 },
  efficientnet_b3: { width: 1.2, depth: 1.4, side: 300 },
  efficientnet_b4: { width: 1.4, depth: 1.8, side: 380 },
} as const;

/** Rounds to the nearest multiple of 8, but not below 90 % of the value. */
function roundedChannels(channels: number): number {
  const rounded = Math.max(8, Math.floor((channels + 4) / 8) * 8);
  return rounded < 0.9 * channels ? rounded + 8 : rounded;
}

/**
 * The stages of torchvision's `features` before the feature map gets smaller, and the last one. `onStage` receives
 * them.
 */
const SHOWN = STAGES.flatMap((_, i) => (STAGES[i + 1]?.[2] === 1 ? [] : [i + 1]));

/**
 * Stages 0 to 4 end before each block with stride 2 and with the last block. In B0 they have 16, 24, 40, 112 and 320
 * channels.
 */
export class EfficientNet extends StagedBackbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  override readonly stageChannels: readonly number[];
  readonly features: Sequential;
  readonly dropout: Dropout;

  constructor(id: keyof typeof SIZES, options: BackboneOptions = {}) {
    super();
    const { width, depth, side } = SIZES[id];
    this.inputShape = pictureShape(id, options, [3, side, side]);
    const stem = roundedChannels(32 * width);
    let inputs = stem;
    const shapes = STAGES.map(([expansion, kernel, first, channels, count]) =>
      Array.from({ length: Math.ceil(count * depth) }, (_, i): BlockShape => {
        const outputs = roundedChannels(channels * width);
        const shape = { inputs, outputs, expansion, kernel, stride: i === 0 ? first : 1 };
        inputs = outputs;
        return shape;
      }),
    );
    const count = shapes.flat().length;
    const rate = options.stochasticDepth ?? 0;
    let place = 0;
    const stages = shapes.map(
      (blocks) => new Sequential(...blocks.map((shape) => new MBConv(shape, (rate * place++) / count))),
    );
    this.width = 4 * inputs;
    this.features = new Sequential(
      new ConvNorm(this.inputShape[0], stem, { kernel: 3, stride: 2, padding: 1, init, act: "silu" }),
      ...stages,
      new ConvNorm(inputs, this.width, { kernel: 1, init, act: "silu" }),
    );
    this.stageChannels = SHOWN.map((stage) => shapes[stage - 1][0].outputs);
    this.dropout = new Dropout(options.dropout ?? 0);
    useBatchNorm(this, options);
  }

  override adopt(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
    return namedAsConvolutional("efficientnet", this.stateDict(), tensors);
  }

  override orderedBlocks(): readonly Layer[] {
    return this.features.layers.slice(1, -1).flatMap((stage) => (stage as Sequential).layers);
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    const steps = this.features.layers.flatMap((layer, i): Step[] => {
      if (layer instanceof ConvNorm) return [{ forward: (map) => layer.forward(map) }];
      const { layers } = layer as Sequential;
      const stage = SHOWN.indexOf(i);
      return layers.map((block, j) => ({
        forward: (map) => block.forward(map),
        stage: j === layers.length - 1 && stage >= 0 ? stage : undefined,
      }));
    });
    return this.dropout.forward(runSteps(x, [...steps, { forward: globalAverage }], onStage));
  }
}

const define = (id: keyof typeof SIZES, title: string, width: number, parameters: number) =>
  defineBackbone({
    id,
    title,
    paper:
      "Tan & Le, EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, ICML 2019, https://arxiv.org/abs/1905.11946",
    weights: `torchvision's ${id} with the weights IMAGENET1K_V1, a .pth file`,
    width,
    parameters,
    blocks: STAGES.reduce((sum, [, , , , count]) => sum + Math.ceil(count * SIZES[id].depth), 0),
    stochasticDepth: true,
    channelsLastOnCpu: true, // 1.1 times as fast
    build: (options) => new EfficientNet(id, options),
  });

export const efficientnetB0 = define("efficientnet_b0", "EfficientNet-B0", 1280, 4_007_548);
export const efficientnetB1 = define("efficientnet_b1", "EfficientNet-B1", 1280, 6_513_184);
export const efficientnetB2 = define("efficientnet_b2", "EfficientNet-B2", 1408, 7_700_994);
export const efficientnetB3 = define("efficientnet_b3", "EfficientNet-B3", 1536, 10_696_232);
export const efficientnetB4 = define("efficientnet_b4", "EfficientNet-B4", 1792, 17_548_616);
