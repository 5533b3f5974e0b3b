/**
 * RegNetY (Radosavovic et al., 2020) without the classification layer. The features are the global average of the last
 * feature map. Architecture and parameter names are torchvision's. Batch norm is frozen by default. The biases of
 * squeeze-and-excitation are initialized with 0.
 */

import type { Tensor } from "../engine/tensor.js";
import { convNormTwice, useBatchNorm } from "../nn/batch-norm.js";
import { ConvNorm } from "../nn/conv-norm.js";
import { Dropout } from "../nn/dropout.js";
import { Layer, Module, Sequential } from "../nn/module.js";
import { globalAverage } from "../nn/pooling.js";
import { SqueezeExcitation } from "../nn/squeeze-excitation.js";
import {
  type BackboneOptions,
  defineBackbone,
  type OnStage,
  pictureShape,
  runSteps,
  StagedBackbone,
  stageSteps,
} from "./backbone.js";
import { namedAsConvolutional } from "./convolutional-names.js";

const init = "he-fan-out";

/** A 1×1 convolution, a grouped 3×3 convolution, squeeze-and-excitation and a 1×1 convolution. */
class Branch extends Module {
  readonly a: ConvNorm;
  readonly b: ConvNorm;
  readonly se: SqueezeExcitation;
  readonly c: ConvNorm;

  constructor(inputs: number, outputs: number, stride: number, groupWidth: number) {
    super();
    const groups = outputs / groupWidth;
    this.a = new ConvNorm(inputs, outputs, { kernel: 1, init, act: "relu" });
    this.b = new ConvNorm(outputs, outputs, { kernel: 3, stride, padding: 1, groups, init, act: "relu" });
    this.se = new SqueezeExcitation(outputs, Math.round(inputs / 4), "relu");
    this.c = new ConvNorm(outputs, outputs, { kernel: 1, init });
  }
}

/** A branch with a residual connection. */
class Block extends Layer {
  readonly proj: ConvNorm | null;
  readonly f: Branch;

  constructor(inputs: number, outputs: number, stride: number, groupWidth: number) {
    super();
    const same = inputs === outputs && stride === 1;
    this.proj = same ? null : new ConvNorm(inputs, outputs, { kernel: 1, stride, init });
    this.f = new Branch(inputs, outputs, stride, groupWidth);
  }

  forward(x: Tensor): Tensor {
    return this.twice(x, x)[0];
  }

  twice(x: Tensor, again: Tensor): readonly [Tensor, Tensor] {
    const { a, b, se, c } = this.f;
    const inner = se.forward(b.forward(a.forward(x)));
    const residual = this.proj ? { layer: this.proj, x: again } : again;
    return convNormTwice(c.conv, c.norm, inner, { residual, act: "relu" });
  }
}

/** Sequential layers with custom names: torchvision numbers stages from 1, and blocks from 0 after a hyphen. */
class Named extends Sequential {
  readonly #names: readonly string[];

  constructor(layers: readonly Layer[], nameOf: (place: number) => string) {
    super(...layers);
    this.#names = layers.map((_, i) => nameOf(i));
  }

  override *children(): Generator<[string, Module]> {
    for (const [i, layer] of this.layers.entries()) yield [this.#names[i], layer];
  }
}

/** The channels and the number of blocks of the four stages, and the channels per group. */
const SIZES = {
  regnet_y_400mf: { widths: [48, 104, 208, 440], blocks: [1, 3, 6, 6], groupWidth: 8 },
  regnet_y_800mf: { widths: [64, 144, 320, 784], blocks: [1, 3, 8, 2], groupWidth: 16 },
  regnet_y_1_6gf: { widths: [48, 120, 336, 888], blocks: [2, 6, 17, 2], groupWidth: 24 },
  regnet_y_3_2gf: { widths: [72, 216, 576, 1512], blocks: [2, 5, 13, 1], groupWidth: 24 },
  regnet_y_8gf: { widths: [224, 448, 896, 2016], blocks: [2, 4, 10, 1], groupWidth: 56 },
  regnet_y_16gf: { widths: [224, 448, 1232, 3024], blocks: [2, 4, 11, 1], groupWidth: 112 },
  regnet_y_32gf: { widths: [232, 696, 1392, 3712], blocks: [2, 5, 12, 1], groupWidth: 232 },
} as const;

const STEM = 32;

/** Stage 0 is the stem, and stages 1 to 4 are torchvision's `block1` to `block4`. */
export class RegNet extends StagedBackbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  override readonly stageChannels: readonly number[];
  readonly stem: ConvNorm;
  readonly trunk_output: Sequential;
  readonly dropout: Dropout;

  constructor(id: keyof typeof SIZES, options: BackboneOptions = {}) {
    super();
    const { widths, blocks, groupWidth } = SIZES[id];
    this.inputShape = pictureShape(id, options, [3, 224, 224]);
    this.stem = new ConvNorm(this.inputShape[0], STEM, { kernel: 3, stride: 2, padding: 1, init, act: "relu" });
    let inputs = STEM;
    const stages = widths.map((outputs, s) => {
      const made = Array.from({ length: blocks[s] }, (_, i) => {
        const block = new Block(inputs, outputs, i === 0 ? 2 : 1, groupWidth);
        inputs = outputs;
        return block;
      });
      return new Named(made, (i) => `block${s + 1}-${i}`);
    });
    this.trunk_output = new Named(stages, (s) => `block${s + 1}`);
    this.width = inputs;
    this.stageChannels = [STEM, ...widths];
    this.dropout = new Dropout(options.dropout ?? 0);
    useBatchNorm(this, options);
  }

  override adopt(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
    return namedAsConvolutional("regnet", this.stateDict(), tensors);
  }

  override orderedBlocks(): readonly Layer[] {
    return this.trunk_output.layers.flatMap((stage) => (stage as Sequential).layers);
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    const blocks = this.trunk_output.layers.flatMap((stage, s) => stageSteps((stage as Sequential).layers, s + 1));
    const stem = { forward: (map: Tensor) => this.stem.forward(map), stage: 0 };
    return this.dropout.forward(runSteps(x, [stem, ...blocks, { forward: globalAverage }], onStage));
  }
}

const define = (id: keyof typeof SIZES, title: string, parameters: number) =>
  defineBackbone({
    id,
    title,
    paper: "Radosavovic et al., Designing Network Design Spaces, CVPR 2020, https://arxiv.org/abs/2003.13678",
    weights: `torchvision's ${id} with the weights IMAGENET1K_V1, a .pth file`,
    width: SIZES[id].widths[3],
    parameters,
    blocks: SIZES[id].blocks.reduce((sum: number, count) => sum + count, 0),
    build: (options) => new RegNet(id, options),
  });

export const regnetY400mf = define("regnet_y_400mf", "RegNetY-400MF", 3_903_144);
export const regnetY800mf = define("regnet_y_800mf", "RegNetY-800MF", 5_647_512);
export const regnetY1600mf = define("regnet_y_1_6gf", "RegNetY-1.6GF", 10_313_430);
export const regnetY3200mf = define("regnet_y_3_2gf", "RegNetY-3.2GF", 17_923_338);
export const regnetY8gf = define("regnet_y_8gf", "RegNetY-8GF", 37_364_472);
export const regnetY16gf = define("regnet_y_16gf", "RegNetY-16GF", 80_565_140);
export const regnetY32gf = define("regnet_y_32gf", "RegNetY-32GF", 141_333_770);
