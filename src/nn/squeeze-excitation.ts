/**
 * Squeeze-and-excitation (Hu et al., 2018, https://arxiv.org/abs/1709.01507). Two layers compute a factor between 0 and
 * 1 for each channel from the channel means. Parameter names and shapes are torchvision's, where the layers are 1×1
 * convolutions. Here they run as linear layers on [n, channels], which gives the same product.
 */

import { channelMean, channelScale, linear } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { Conv2d } from "./conv.js";
import { usesFusedKernels } from "./fused-kernels.js";
import { Layer } from "./module.js";
import { globalAverage } from "./pooling.js";
import { toComputePrecision } from "./precision.js";

export class SqueezeExcitation extends Layer {
  readonly fc1: Conv2d;
  readonly fc2: Conv2d;

  constructor(
    channels: number,
    squeezed: number,
    private readonly act: "relu" | "silu",
  ) {
    super();
    this.fc1 = new Conv2d(channels, squeezed, { kernel: 1, init: "he-fan-out" });
    this.fc2 = new Conv2d(squeezed, channels, { kernel: 1, init: "he-fan-out" });
  }

  forward(x: Tensor): Tensor {
    if (usesFusedKernels(x)) {
      const [mean, same] = channelMean(x);
      return channelScale(same, this.factors(mean).toDType(x.dtype));
    }
    const excited = this.factors(globalAverage(x));
    return x.mul(excited.toDType(x.dtype).view(...excited.shape, 1, 1));
  }

  /** Means [n, channels] → factors between 0 and 1. */
  private factors(means: Tensor): Tensor {
    const squeezed = product(this.fc1, means);
    return product(this.fc2, this.act === "relu" ? squeezed.relu_() : squeezed.silu()).sigmoid();
  }
}

/** Applies a 1×1 convolution to a feature map with one pixel, given as [n, channels]. */
function product({ weight, bias, outputs, inputs }: Conv2d, x: Tensor): Tensor {
  return linear(
    toComputePrecision(x),
    toComputePrecision(weight.view(outputs, inputs)),
    bias && toComputePrecision(bias),
  );
}
