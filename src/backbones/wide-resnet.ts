/**
 * WideResNet-16-2 (Zagoruyko & Komodakis, 2016) as in DomainBed for 32×32 pictures: convolutions with biases, the
 * stride in each block's second convolution, and a momentum of 0.9 in the last batch norm, so that its running
 * statistics are nearly those of the last batch. Batch norm is trained. The parameter names are DomainBed's.
 *
 * The norms come before the convolutions, with a ReLU in between, so they cannot be folded.
 */

import type { Tensor } from "../engine/tensor.js";
import { BatchNorm2d } from "../nn/batch-norm.js";
import { Conv2d } from "../nn/conv.js";
import { Layer, Sequential } from "../nn/module.js";
import { globalAverage } from "../nn/pooling.js";
import {
  type BackboneOptions,
  defineBackbone,
  type OnStage,
  pictureShape,
  runSteps,
  StagedBackbone,
  stageSteps,
} from "./backbone.js";

const ID = "wide-resnet-16-2";
const WIDTHS = [32, 64, 128] as const;
const BLOCKS_A_STAGE = 2; // depth 16 = 6 · 2 + 4

class Block extends Layer {
  readonly bn1: BatchNorm2d;
  readonly conv1: Conv2d;
  readonly bn2: BatchNorm2d;
  readonly conv2: Conv2d;
  readonly shortcut: Sequential;

  constructor(inputs: number, outputs: number, stride: number) {
    super();
    this.bn1 = new BatchNorm2d(inputs);
    this.conv1 = new Conv2d(inputs, outputs, { kernel: 3, padding: 1 });
    this.bn2 = new BatchNorm2d(outputs);
    this.conv2 = new Conv2d(outputs, outputs, { kernel: 3, stride, padding: 1 });
    const same = stride === 1 && inputs === outputs;
    this.shortcut = same ? new Sequential() : new Sequential(new Conv2d(inputs, outputs, { kernel: 1, stride }));
  }

  forward(x: Tensor): Tensor {
    const inner = this.conv1.forward(this.bn1.forward(x).relu_());
    return this.conv2.forward(this.bn2.forward(inner).relu_()).add_(this.shortcut.forward(x));
  }
}

/** Stages 0 to 2 are the three groups of blocks. */
export class WideResNet extends StagedBackbone {
  readonly width = 128;
  readonly inputShape: readonly number[];
  override readonly stageChannels = WIDTHS;
  readonly conv1: Conv2d;
  readonly layer1: Sequential;
  readonly layer2: Sequential;
  readonly layer3: Sequential;
  readonly bn1: BatchNorm2d;

  constructor(options: BackboneOptions = {}) {
    super();
    this.inputShape = pictureShape(ID, options, [3, 32, 32]);
    let inputs = 16;
    const stage = (outputs: number, stride: number): Sequential => {
      const blocks = Array.from({ length: BLOCKS_A_STAGE }, (_, i) => {
        const block = new Block(inputs, outputs, i === 0 ? stride : 1);
        inputs = outputs;
        return block;
      });
      return new Sequential(...blocks);
    };
    this.conv1 = new Conv2d(this.inputShape[0], inputs, { kernel: 3, padding: 1 });
    this.layer1 = stage(WIDTHS[0], 1);
    this.layer2 = stage(WIDTHS[1], 2);
    this.layer3 = stage(WIDTHS[2], 2);
    this.bn1 = new BatchNorm2d(WIDTHS[2], { momentum: 0.9 });
  }

  override orderedBlocks(): readonly Layer[] {
    return [this.layer1, this.layer2, this.layer3].flatMap(({ layers }) => layers);
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    const blocks = [this.layer1, this.layer2, this.layer3].flatMap(({ layers }, stage) => stageSteps(layers, stage));
    // For 32×32 pictures the last feature map is 8×8, so the original's 8×8 average is the global average.
    const last = (map: Tensor) => globalAverage(this.bn1.forward(map).relu_());
    return runSteps(x, [{ forward: (input) => this.conv1.forward(input) }, ...blocks, { forward: last }], onStage);
  }
}

export const wideResNet = defineBackbone({
  id: ID,
  title: "WideResNet-16-2",
  paper: "Zagoruyko & Komodakis, Wide Residual Networks, BMVC 2016, https://arxiv.org/abs/1605.07146",
  blocks: 6,
  build: (options) => new WideResNet(options),
});
