/**
 * ARM (ARM-CML): a network that adapts to the domain it is in by looking at unlabelled samples of it. A context network maps
 * each picture to one channel; the mean over a group of pictures of one domain is given to the backbone as a further input
 * channel of all of them, and the loss is ERM's.
 *
 * A group is `batchSize` pictures in a row: in training the samples of one domain, and in prediction what the caller put
 * together, so that predictions depend on the batch they are made in. A batch that does not divide is one group.
 *
 * Public variants (`contextNet`): in DomainBed and SWAD the optimizer is made before the context network, which therefore stays
 * as it was drawn but for its running statistics (`untrained`). The published numbers came from that, so it is the default;
 * it also needs no gradient and is run without one. `trained` is the paper's method.
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
    /** Channels inside the context network. */
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

/** The network of the reference: three 5×5 convolutions that keep the size, the first two with batch norm and ReLU. */
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

/** Every map replaced by the mean over its group of `size` in a row; all are one group where they do not divide. */
function groupMeans(maps: Tensor, size: number): Tensor {
  const [n, channels, height, width] = maps.shape;
  const members = n % size === 0 ? size : n;
  const groups = maps.reshape(n / members, members, channels, height, width);
  return groups.mean(1, true).expand(groups.shape).reshape(n, channels, height, width);
}
