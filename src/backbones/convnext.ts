/**
 * ConvNeXt tiny, small and base (Liu et al., 2022) without the classification layer. The features are the normalized
 * global average of the last feature map. Architecture and parameter names are torchvision's, where that norm is
 * `classifier.0`. Stochastic depth drops the branch of block k of K with probability p·k/(K − 1).
 *
 * A block adds γ·f(x), where γ starts at 1e-6. In bfloat16 this would be lost when added to x, so the feature maps
 * between blocks stay in float32.
 */

import { empty, scaleAdd } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";
import { GELU } from "../nn/activation.js";
import { Conv2d } from "../nn/conv.js";
import { Dropout } from "../nn/dropout.js";
import { usesFusedKernels } from "../nn/fused-kernels.js";
import { LayerNorm } from "../nn/layer-norm.js";
import { Linear } from "../nn/linear.js";
import { linearThenGelu } from "../nn/linear-gelu.js";
import { Layer, Parameter, Sequential } from "../nn/module.js";
import { globalAverage } from "../nn/pooling.js";
import { toFullPrecision } from "../nn/precision.js";
import { StochasticDepth, stochasticDepthRates } from "../nn/stochastic-depth.js";
import {
  type BackboneOptions,
  defineBackbone,
  type OnStage,
  pictureShape,
  runSteps,
  StagedBackbone,
  type Step,
  stageSteps,
} from "./backbone.js";
import { namedAsConvolutional } from "./convolutional-names.js";

/** The standard deviation for initializing the weights of convolutions and linear layers. */
const STD = 0.02;
const EPS = 1e-6;

/** A linear layer with normally distributed initial weights and zero bias. */
class NormalLinear extends Linear {
  protected override reset(random: Random): void {
    random.for("weight").normal_(this.weight, 0, STD);
    this.bias?.zero_();
  }
}

/** Permutes [n, c, h, w] to [n, h, w, c] and back, without a copy for channels-last tensors. */
const channelsAtEnd = (map: Tensor): Tensor => map.permute([0, 2, 3, 1]);
const channelsSecond = (map: Tensor): Tensor => map.permute([0, 3, 1, 2]);

/** `channelsAtEnd` as a layer, because torchvision numbers it as one. */
class ChannelsAtEnd extends Layer {
  forward(map: Tensor): Tensor {
    return channelsAtEnd(map);
  }
}

/** Layer norm over the channels of each pixel. */
class MapNorm extends LayerNorm {
  override forward(map: Tensor): Tensor {
    return channelsSecond(super.forward(channelsAtEnd(map)));
  }
}

/** A depthwise 7×7 convolution, a norm, and an MLP over the channels of each pixel. */
class Branch extends Sequential {
  private readonly mlp: readonly [Linear, GELU, Linear];

  constructor(channels: number) {
    const mlp = [
      new NormalLinear(channels, 4 * channels),
      new GELU(),
      new NormalLinear(4 * channels, channels),
    ] as const;
    super(
      new Conv2d(channels, channels, { kernel: 7, padding: 3, groups: channels, init: STD }),
      new ChannelsAtEnd(),
      new LayerNorm(channels, { eps: EPS }),
      ...mlp,
    );
    this.mlp = mlp;
  }

  override forward(x: Tensor): Tensor {
    const [expand, gelu, project] = this.mlp;
    const normed = this.layers.slice(0, 3).reduce((map, layer) => layer.forward(map), x);
    return project.forward(linearThenGelu(expand, gelu, normed));
  }
}

/** A branch, scaled, and a residual connection. */
class Block extends Layer {
  readonly layer_scale: Parameter;
  readonly block: Branch;
  readonly stochasticDepth: StochasticDepth;

  constructor(channels: number, dropRate: number) {
    super();
    this.layer_scale = new Parameter(empty([channels, 1, 1]));
    this.block = new Branch(channels);
    this.stochasticDepth = new StochasticDepth(dropRate);
  }

  protected override reset(_random: Random): void {
    this.layer_scale.fill_(1e-6);
  }

  forward(x: Tensor): Tensor {
    const branch = this.block.forward(x);
    if (usesFusedKernels(x)) {
      const keep = this.stochasticDepth.mask(branch);
      return channelsSecond(scaleAdd(channelsAtEnd(x), branch, this.layer_scale.view(-1), keep));
    }
    const mixed = branch.mul(this.layer_scale.view(-1));
    return this.stochasticDepth.forward(channelsSecond(mixed)).add(x);
  }
}

/** The stem: a 4×4 convolution with stride 4, and a norm. */
class Stem extends Sequential {
  constructor(inputs: number, outputs: number) {
    super(new Conv2d(inputs, outputs, { kernel: 4, stride: 4, init: STD }), new MapNorm(outputs, { eps: EPS }));
  }

  override forward(x: Tensor): Tensor {
    const [conv, norm] = this.layers;
    return norm.forward(toFullPrecision(conv.forward(x)));
  }
}

/** The layers between stages: a norm, and a 2×2 convolution with stride 2. */
class Downsample extends Sequential {
  constructor(inputs: number, outputs: number) {
    super(new MapNorm(inputs, { eps: EPS }), new Conv2d(inputs, outputs, { kernel: 2, stride: 2, init: STD }));
  }

  override forward(x: Tensor): Tensor {
    return toFullPrecision(super.forward(x));
  }
}

/** The channels and the number of blocks of the four stages. */
const SIZES = {
  convnext_tiny: { widths: [96, 192, 384, 768], blocks: [3, 3, 9, 3] },
  convnext_small: { widths: [96, 192, 384, 768], blocks: [3, 3, 27, 3] },
  convnext_base: { widths: [128, 256, 512, 1024], blocks: [3, 3, 27, 3] },
} as const;

/** Stage 0 is the stem, and stages 1 to 4 are the blocks of one width. */
export class ConvNeXt extends StagedBackbone {
  readonly width: number;
  readonly inputShape: readonly number[];
  override readonly stageChannels: readonly number[];
  readonly features: Sequential;
  readonly classifier: Sequential;
  readonly dropout: Dropout;

  constructor(id: keyof typeof SIZES, options: BackboneOptions = {}) {
    super();
    const { widths, blocks } = SIZES[id];
    this.inputShape = pictureShape(id, options, [3, 224, 224]);
    const rates = stochasticDepthRates(
      options.stochasticDepth ?? 0,
      blocks.reduce((sum, count) => sum + count, 0),
    );
    const layers = widths.flatMap((width, s) => [
      s === 0 ? new Stem(this.inputShape[0], width) : new Downsample(widths[s - 1], width),
      new Sequential(...Array.from({ length: blocks[s] }, () => new Block(width, rates.shift()!))),
    ]);
    this.features = new Sequential(...layers);
    this.width = widths[3];
    this.classifier = new Sequential(new LayerNorm(this.width, { eps: EPS }));
    this.stageChannels = [widths[0], ...widths];
    this.dropout = new Dropout(options.dropout ?? 0);
  }

  override adopt(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
    return namedAsConvolutional("convnext", this.stateDict(), tensors);
  }

  override orderedBlocks(): readonly Layer[] {
    return this.features.layers.flatMap((layer, i) => (i % 2 === 1 ? (layer as Sequential).layers : []));
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    const steps = this.features.layers.flatMap((layer, i): Step[] => {
      if (i % 2 === 0) return [{ forward: (map) => layer.forward(map), stage: i === 0 ? 0 : undefined }];
      return stageSteps((layer as Sequential).layers, (i + 1) / 2);
    });
    const end = (map: Tensor): Tensor => this.classifier.forward(globalAverage(map));
    return this.dropout.forward(runSteps(x, [...steps, { forward: end }], onStage));
  }
}

const define = (id: keyof typeof SIZES, title: string, parameters: number) =>
  defineBackbone({
    id,
    title,
    paper: "Liu et al., A ConvNet for the 2020s, CVPR 2022, https://arxiv.org/abs/2201.03545",
    weights: `torchvision's ${id} with the weights IMAGENET1K_V1, a .pth file`,
    width: SIZES[id].widths[3],
    parameters,
    blocks: SIZES[id].blocks.reduce((sum: number, count) => sum + count, 0),
    stochasticDepth: true,
    channelsLastOnCpu: true, // about as fast, but without copies before and after the norms
    build: (options) => new ConvNeXt(id, options),
  });

export const convnextTiny = define("convnext_tiny", "ConvNeXt-T", 27_820_128);
export const convnextSmall = define("convnext_small", "ConvNeXt-S", 49_454_688);
export const convnextBase = define("convnext_base", "ConvNeXt-B", 87_566_464);
