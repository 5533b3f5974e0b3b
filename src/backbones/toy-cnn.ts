/**
 * A network for tests and teaching: a stem and three stages, each a 3×3 convolution with ReLU, and global average
 * pooling. It has stages for MixStyle and MIRO, and so few weights (about a thousand) that all of them can be stored
 * and read. To train on small pictures use `small-cnn`, which is wide enough to learn something.
 */

import type { Tensor } from "../engine/tensor.js";
import { Conv2d } from "../nn/conv.js";
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

const ID = "toy-cnn";
const CHANNELS = [4, 4, 6, 8] as const;

/** The stages are as in a ResNet: 0 is the stem, and 1 to 3 are the others. The last two halve the feature map. */
export class ToyCnn extends StagedBackbone {
  readonly width = CHANNELS[3];
  readonly inputShape: readonly number[];
  override readonly stageChannels = CHANNELS;
  readonly stem: Conv2d;
  readonly stage1 = new Conv2d(CHANNELS[0], CHANNELS[1], { kernel: 3, padding: 1 });
  readonly stage2 = new Conv2d(CHANNELS[1], CHANNELS[2], { kernel: 3, stride: 2, padding: 1 });
  readonly stage3 = new Conv2d(CHANNELS[2], CHANNELS[3], { kernel: 3, stride: 2, padding: 1 });

  constructor(options: BackboneOptions = {}) {
    super();
    this.inputShape = pictureShape(ID, options, [3, 8, 8]);
    this.stem = new Conv2d(this.inputShape[0], CHANNELS[0], { kernel: 3, padding: 1 });
  }

  override orderedBlocks(): readonly Conv2d[] {
    return [this.stage1, this.stage2, this.stage3];
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    const convolutions = [this.stem, this.stage1, this.stage2, this.stage3];
    const steps = convolutions.map((conv, stage): Step => ({ forward: (map) => conv.forward(map).relu_(), stage }));
    return runSteps(x, [...steps, { forward: globalAverage }], onStage);
  }
}

export const toyCnn = defineBackbone({
  id: ID,
  title: "toy CNN",
  paper: "none: three stages and a stem, for tests and teaching",
  blocks: 3,
  build: (options) => new ToyCnn(options),
});
