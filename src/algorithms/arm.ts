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
 */

import { cat } from "../engine/ops.generated.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { choice, hparam, variant } from "../hparams.js";
import { BatchNorm2d, Conv2d, crossEntropy, type Layer, ReLU, Sequential } from "../nn/index.js";
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
    const context = contextNetwork(channels - 1, contextWidth);
    const withContext = (x: Tensor): Tensor => {
      const maps = trained ? context.forward(x) : noGrad(() => context.forward(x)); // [n, 1, height, width]
      return cat([x, groupMeans(maps, batchSize).toDType(x.dtype)], 1);
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
function contextNetwork(channels: number, width: number): Layer {
  const conv = (inputs: number, outputs: number) => new Conv2d(inputs, outputs, { kernel: 5, padding: 2 });
  return new Sequential(
    conv(channels, width),
    new BatchNorm2d(width),
    new ReLU({ inPlace: true }),
    conv(width, width),
    new BatchNorm2d(width),
    new ReLU({ inPlace: true }),
    conv(width, 1),
  );
}

/**
 * Replaces every feature map by the mean over its group of `size` consecutive maps. If the batch is not divisible by
 * `size`, it is one group.
 */
function groupMeans(maps: Tensor, size: number): Tensor {
  const [n, channels, height, width] = maps.shape;
  const members = n % size === 0 ? size : n;
  const groups = maps.reshape(n / members, members, channels, height, width);
  return groups.mean(1, true).expand(groups.shape).reshape(n, channels, height, width);
}
