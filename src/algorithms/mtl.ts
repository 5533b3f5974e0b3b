/**
 * MTL (marginal transfer learning): the classifier is given a sample's features and an embedding of its domain, the running
 * mean of the domain's features; L is the sum (not the mean) over domains of their cross-entropies.
 *
 *     m_e = a·mean_i z_i + (1 − a)·m_e,   logits = w([z_i; m_e])
 *
 * Note that `ema` = a multiplies the new mean.
 *
 * Public variants: every public revision overwrites the embedding with standard normal noise, by a slip, before the
 * classifier sees it, in training and in prediction. All published MTL numbers came from that, so it is the default;
 * the classifier learns to look past the noise. `noise=false` is the paper's method: the embedding itself, and in
 * prediction, where the domain is unknown, the mean of the features of the batch.
 *
 * With noise a prediction is random. Its noise depends on nothing but the shape of the batch, so that it can be repeated.
 * A penalty is taken of z alone.
 */

import { cat, stack, zeros } from "../engine/ops.generated.js";
import { Random } from "../engine/random.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { choice, hparam, variant } from "../hparams.js";
import { Module, StateBuffer } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { featuresByDomain, lossByDomain } from "./domain-parts.js";

export const mtl = defineAlgorithm({
  id: "mtl",
  title: "MTL",
  paper:
    "Blanchard, Deshmukh, Dogan, Lee & Scott, Domain Generalization by Marginal Transfer Learning, JMLR 2021, https://arxiv.org/abs/1711.07910",
  needsDomains: true,
  hparams: {
    ema: hparam(0.99, choice([0.5, 0.9, 0.99, 1]), { reference: "mtl_ema" }),
    noise: variant([true, false]),
  },

  build({ backbone, classes, domains, makeClassifier, hparams: { ema, noise } }) {
    const classifier = makeClassifier(2 * backbone.width, classes);
    const memory = new DomainEmbeddings(domains, backbone.width);
    return {
      modules: { backbone, classifier, memory },
      step(batch, { draw }) {
        const { features, parts } = featuresByDomain(backbone, batch);
        const embeddings = memory.follow(parts, ema);
        const beside = noise
          ? draw.normalLike("noise", features)
          : cat(parts.map((part, e) => embeddings.select(0, e).expand(part.shape)));
        const logits = classifier.forward(cat([features, beside], 1));
        return { loss: lossByDomain(logits, batch).sum(), features, logits };
      },
      predict(x) {
        const features = backbone.forward(x);
        const beside = noise
          ? new Random(0, ["mtl", "prediction"]).normal_(features.emptyLike())
          : features.mean(0, true).expand(features.shape);
        return classifier.forward(cat([features, beside], 1));
      },
    };
  },
});

/** A running mean of the features of each domain. */
class DomainEmbeddings extends Module {
  readonly embeddings: StateBuffer; // [domains, width]

  constructor(domains: number, width: number) {
    super();
    this.embeddings = new StateBuffer(zeros([domains, width]));
  }

  /** The embeddings after these features of each domain; the gradient goes through the new means. */
  follow(parts: readonly Tensor[], ema: number): Tensor {
    const means = stack(parts.map((part) => part.mean(0)));
    const embeddings = means.mul(ema).add(this.embeddings, { alpha: 1 - ema });
    noGrad(() => this.embeddings.copy_(embeddings));
    return embeddings;
  }
}
