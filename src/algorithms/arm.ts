/**
 * ARM (ARM-CML) adapts to a domain using unlabelled samples of it. A context network maps each picture to one channel.
 * The mean over a group of pictures of one domain becomes an additional input channel of all pictures in the group. The
 * loss is that of ERM.
 *
 * A group consists of `batchSize` consecutive pictures: in training, the samples of one domain, and in prediction,
 * whatever the caller passes. Predictions therefore depend on the batch. A batch that is not divisible by `batchSize`
 * is one group.
 *
 * Public variants (`contextNet`): DomainBed and SWAD create the optimizer before the context network, so the context
 * network keeps its initial weights and only its running statistics change (`untrained`). The published numbers were
 * computed in this way, so it is the default. It needs no gradient and runs without one. `trained` is the paper's
 * method.
 *
 * The context network makes 5.4 billion multiplications for a picture of 224 × 224, eighteen times as many as MobileNetV2's forward
 * pass, and its maps are the largest of the update. So its passes over maps are few: the last convolution is linear and is
 * applied to the mean of the group, which is the mean of its results. Without gradients, batch norm is a shift before the ReLU,
 * and its scale is a factor of the next convolution's weights.
 */

import { biasClamp, cat } from "../engine/ops.generated.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { choice, hparam, variant } from "../hparams.js";
import { BatchNorm2d, Conv2d, convNorm, crossEntropy, ReLU, Sequential } from "../nn/index.js";
import { isMixedPrecision } from "../nn/precision.js";
import { defineAlgorithm } from "./algorithm.js";
import { armOverrides } from "./shared-hparams.js";
import { variantOf } from "./variant.js";

const CONTEXT_NETS = ["untrained", "trained"] as const;

export const arm = defineAlgorithm({
  id: "arm",
  title: "ARM",
  paper:
    "Zhang et al., Adaptive Risk Minimization: Learning to Adapt to Domain Shift, NeurIPS 2021, https://arxiv.org/abs/2007.02931",
  needsDomains: true,
  hparams: {
    contextNet: variant(CONTEXT_NETS),
    /** The number of channels inside the context network. */
    contextWidth: hparam(64, choice([64])),
  },
  overrides: armOverrides,
  backbone: { extraChannels: 1 },

  build({ backbone, classifier, hparams: { contextNet, contextWidth, batchSize } }) {
    const trained = variantOf("contextNet of ARM", contextNet, CONTEXT_NETS) === "trained";
    const [channels, ...sizes] = backbone.inputShape;
    if (sizes.length !== 2 || channels < 2) {
      const got = `[${backbone.inputShape.join(", ")}]`;
      throw new UsageError(
        `ARM works on pictures, with a backbone of one more input channel than they have, got ${got}`,
      );
    }
    const context = new ContextNetwork(channels - 1, contextWidth, trained);
    const withContext = (x: Tensor): Tensor => {
      const maps = trained ? context.meansOf(x, batchSize) : noGrad(() => context.meansOf(x, batchSize));
      return cat([x, maps.toDType(x.dtype)], 1);
    };
    return {
      modules: { backbone, classifier, context },
      parameters: [backbone, classifier, ...(trained ? [context] : [])].flatMap((module) => module.parameters()),
      step({ x, y }) {
        const features = backbone.forward(withContext(x)); // [n, width]
        const logits = classifier.forward(features);
        return { loss: crossEntropy(logits, y), features, logits };
      },
      predict: (x) => classifier.forward(backbone.forward(withContext(x))),
    };
  },
});

/**
 * The context network of DomainBed: three 5×5 convolutions that keep the size, the first two with batch norm and ReLU.
 */
export class ContextNetwork extends Sequential {
  private readonly pairs: readonly (readonly [Conv2d, BatchNorm2d])[];
  private readonly last: Conv2d;

  constructor(
    channels: number,
    width: number,
    private readonly isTrained: boolean,
  ) {
    const conv = (inputs: number, outputs: number) => new Conv2d(inputs, outputs, { kernel: 5, padding: 2 });
    const pairs = [channels, width].map((inputs) => [conv(inputs, width), new BatchNorm2d(width)] as const);
    const last = conv(width, 1);
    super(...pairs.flatMap(([own, norm]) => [own, norm, new ReLU({ inPlace: true })]), last);
    this.pairs = pairs;
    this.last = last;
  }

  /**
   * Returns the mean of the results over each group of `size` consecutive pictures, for every picture: [n, 1, height, width]. If the
   * batch is not divisible by `size`, it is one group.
   */
  meansOf(x: Tensor, size: number): Tensor {
    const [n, , height, width] = x.shape;
    const members = n % size === 0 ? size : n;
    const { maps, scale } = this.before(x);
    const { last } = this;
    const means = last.convolve(groupMeans(maps, members), scaled(last.weight, scale), last.bias); // [groups, 1, …]
    return means
      .unsqueeze(1)
      .expand([n / members, members, 1, height, width])
      .reshape(n, 1, height, width);
  }

  /** Returns the input of the last convolution, divided by `scale`, which has one number per channel. */
  private before(x: Tensor): { maps: Tensor; scale?: Tensor } {
    let maps = x;
    let scale: Tensor | undefined;
    for (const [conv, norm] of this.pairs) {
      if (this.isTrained || !isFolded(norm, x)) maps = convNorm(conv, norm, maps, { act: "relu" });
      else {
        const y = conv.convolve(maps, scaled(conv.weight, scale), null);
        if (maps !== x) maps.dispose();
        // relu(s·y + t) = s·relu(y + t/s), because s > 0: the norm's weight is 1 and is not trained.
        const affine = norm.batchAffine(y, conv.bias!);
        scale = affine.scale;
        maps = biasClamp(y, affine.shift.div(scale), null, 0, Number.POSITIVE_INFINITY);
        y.dispose();
      }
    }
    return { maps, scale };
  }
}

/** Whether the statistics of the batch can be computed separately. On the CPU, libtorch has no such operator for bfloat16. */
const isFolded = (norm: BatchNorm2d, x: Tensor): boolean =>
  norm.usesBatch && !(x.device === "cpu" && isMixedPrecision());

/** Returns the mean map of each group of `members` consecutive maps, in the layout of the maps. */
function groupMeans(maps: Tensor, members: number): Tensor {
  const stored = maps.isChannelsLast ? maps.permute(0, 2, 3, 1) : maps; // as in memory, so that the reduction reads it in order
  const [n, ...shape] = stored.shape;
  const means = stored
    .reshape(n / members, members, -1)
    .mean(1)
    .view(n / members, ...shape);
  return maps.isChannelsLast ? means.permute(0, 3, 1, 2) : means;
}

/** Weights of a convolution whose input channels were divided by `scale`. */
const scaled = (weight: Tensor, scale: Tensor | undefined): Tensor =>
  scale ? weight.mul(scale.view(1, -1, 1, 1)) : weight;
