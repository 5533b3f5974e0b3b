/**
 * A small network for small generated pictures: three 3×3 convolutions of stride 2, each with ReLU and then group norm as
 * in MNIST-CNN, and the global average. About 3 million multiplications for a 32×32 picture, a thirtieth of MNIST-CNN's:
 * what a laptop trains in seconds. It stands in no paper.
 */

import type { Tensor } from "../engine/tensor.js";
import { Conv2d } from "../nn/conv.js";
import { GroupNorm } from "../nn/group-norm.js";
import { globalAverage } from "../nn/pooling.js";
import { Backbone, type BackboneOptions, defineBackbone, pictureShape } from "./backbone.js";

const ID = "small-cnn";
const CHANNELS = [32, 64, 128] as const;

export class SmallCnn extends Backbone {
  readonly width = CHANNELS[2];
  readonly inputShape: readonly number[];
  readonly conv1: Conv2d;
  readonly conv2: Conv2d;
  readonly conv3: Conv2d;
  readonly norm1 = new GroupNorm(8, CHANNELS[0]);
  readonly norm2 = new GroupNorm(8, CHANNELS[1]);
  readonly norm3 = new GroupNorm(8, CHANNELS[2]);

  constructor(options: BackboneOptions = {}) {
    super();
    this.inputShape = pictureShape(ID, options, [3, 32, 32]);
    const [first, second, third] = CHANNELS;
    this.conv1 = new Conv2d(this.inputShape[0], first, { kernel: 3, stride: 2, padding: 1 });
    this.conv2 = new Conv2d(first, second, { kernel: 3, stride: 2, padding: 1 });
    this.conv3 = new Conv2d(second, third, { kernel: 3, stride: 2, padding: 1 });
  }

  forward(x: Tensor): Tensor {
    const first = this.norm1.forward(this.conv1.forward(x).relu_());
    const second = this.norm2.forward(this.conv2.forward(first).relu_());
    return globalAverage(this.norm3.forward(this.conv3.forward(second).relu_()));
  }
}

export const smallCnn = defineBackbone({
  id: ID,
  title: "small CNN",
  paper: "none: a network for quick trials on generated pictures",
  build: (options) => new SmallCnn(options),
});
