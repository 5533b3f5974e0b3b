/**
 * DomainBed's network for 28×28 pictures: four 3×3 convolutions, each followed by ReLU and group norm, and global
 * average pooling. The parameter names are DomainBed's, where the group norms are called bn.
 */

import { reluNorm } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { Conv2d } from "../nn/conv.js";
import { GroupNorm } from "../nn/group-norm.js";
import { globalAverage } from "../nn/pooling.js";
import { isMixedPrecision } from "../nn/precision.js";
import { Backbone, type BackboneOptions, defineBackbone, pictureShape, runSteps } from "./backbone.js";

const ID = "mnist-cnn";
const GROUPS = 8;

export class MnistCnn extends Backbone {
  readonly width = 128;
  readonly inputShape: readonly number[];
  readonly conv1: Conv2d;
  readonly conv2: Conv2d;
  readonly conv3: Conv2d;
  readonly conv4: Conv2d;
  readonly bn0: GroupNorm;
  readonly bn1: GroupNorm;
  readonly bn2: GroupNorm;
  readonly bn3: GroupNorm;

  constructor(options: BackboneOptions = {}) {
    super();
    this.inputShape = pictureShape(ID, options, [1, 28, 28]);
    this.conv1 = new Conv2d(this.inputShape[0], 64, { kernel: 3, padding: 1 });
    this.conv2 = new Conv2d(64, 128, { kernel: 3, stride: 2, padding: 1 });
    this.conv3 = new Conv2d(128, 128, { kernel: 3, padding: 1 });
    this.conv4 = new Conv2d(128, 128, { kernel: 3, padding: 1 });
    this.bn0 = new GroupNorm(GROUPS, 64);
    this.bn1 = new GroupNorm(GROUPS, 128);
    this.bn2 = new GroupNorm(GROUPS, 128);
    this.bn3 = new GroupNorm(GROUPS, 128);
  }

  forward(x: Tensor): Tensor {
    const { conv1, conv2, conv3, conv4, bn0, bn1, bn2, bn3 } = this;
    const pairs = [
      [conv1, bn0],
      [conv2, bn1],
      [conv3, bn2],
      [conv4, bn3],
    ] as const;
    const steps = pairs.map(([conv, norm]) => ({ forward: (map: Tensor) => normOfRelu(norm, conv, map) }));
    return runSteps(x, [...steps, { forward: globalAverage }]);
  }
}

/**
 * On a GPU, the bias of the convolution, ReLU and the norm are one kernel (native/src/relu-norm.cc). `NUDGE_RELU_NORM=0`
 * uses ATen's operators, for comparisons.
 */
function normOfRelu(norm: GroupNorm, conv: Conv2d, x: Tensor): Tensor {
  if (x.device === "cpu" || isMixedPrecision() || process.env.NUDGE_RELU_NORM === "0")
    return norm.forward(conv.forward(x).relu_());
  return reluNorm(conv.convolve(x, conv.weight, null), conv.bias, norm.weight, norm.bias, norm.groups, norm.eps);
}

export const mnistCnn = defineBackbone({
  id: ID,
  title: "MNIST-CNN",
  paper: "Gulrajani & Lopez-Paz, In Search of Lost Domain Generalization, ICLR 2021, https://arxiv.org/abs/2007.01434",
  channelsLastOnGpu: true, // updates 1.2 times as fast, evaluations 1.4 times
  build: (options) => new MnistCnn(options),
});
