/**
 * A small network for small generated pictures: three convolutions, each with ReLU and 2×2 max pooling, and one linear
 * layer with ReLU. It needs about 5 million multiplications for a 32×32 picture, a fifteenth of MNIST-CNN, so a laptop
 * trains it in seconds. It is not from a paper. (Strided convolutions with global average pooling learn the generated
 * pictures equally well, but stay at chance level on outlines if those are held out.)
 */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { Conv2d } from "../nn/conv.js";
import { Linear } from "../nn/linear.js";
import { toFullPrecision } from "../nn/precision.js";
import {
  type BackboneOptions,
  defineBackbone,
  type OnStage,
  pictureShape,
  runSteps,
  StagedBackbone,
  type Step,
} from "./backbone.js";

const ID = "small-cnn";

export class SmallCnn extends StagedBackbone {
  readonly width = 128;
  readonly inputShape: readonly number[];
  override readonly stageChannels = [16, 32, 64];
  readonly conv1: Conv2d;
  readonly conv2 = new Conv2d(16, 32, { kernel: 3, padding: 1 });
  readonly conv3 = new Conv2d(32, 64, { kernel: 3, padding: 1 });
  readonly fc: Linear;

  constructor(options: BackboneOptions = {}) {
    super();
    const [channels, height, width] = pictureShape(ID, options, [3, 32, 32]);
    if (Math.min(height, width) < 8) {
      throw new UsageError(`backbone ${ID}: expected pictures of at least 8×8, got ${height}×${width}`);
    }
    this.inputShape = [channels, height, width];
    this.conv1 = new Conv2d(channels, 16, { kernel: 5, padding: 2 });
    this.fc = new Linear(64 * Math.floor(height / 8) * Math.floor(width / 8), this.width);
  }

  override stages(x: Tensor, onStage?: OnStage): Tensor {
    const steps = [this.conv1, this.conv2, this.conv3].map(
      (conv, stage): Step => ({ forward: (map) => conv.forward(map).relu_().maxPool2d([2, 2]), stage }),
    );
    const features = (maps: Tensor): Tensor => toFullPrecision(this.fc.forward(maps.flatten(1)).relu_());
    return runSteps(x, [...steps, { forward: features }], onStage);
  }
}

export const smallCnn = defineBackbone({
  id: ID,
  title: "small CNN",
  paper: "none: a network for quick trials on generated pictures",
  build: (options) => new SmallCnn(options),
});
