/**
 * MTL (marginal transfer learning): the classifier receives the features of a sample and an embedding of its domain,
 * which is the running mean of the domain's features. L is the sum (not the mean) of the domains' cross-entropies.
 *
 *     m_e = a·mean_i z_i + (1 − a)·m_e,   logits = w([z_i; m_e])
 *
 * Note that `ema` = a multiplies the new mean.
 *
 * Public variants: every public revision overwrites the embedding with standard normal noise by mistake before the
 * classifier receives it, in training and in prediction. All published MTL numbers were computed in this way, so it is
 * the default; the classifier learns to ignore the noise. `noise=false` is the paper's method: it uses the embedding,
 * and in prediction, where the domain is unknown, the mean of the features of the batch.
 *
 * With noise, predictions are random. The noise depends only on the shape of the batch, so that predictions are
 * reproducible. Penalties apply to z alone.
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
  predictsByBatch: ({ noise }) => !noise,

  build({ backbone, classes, domains, makeClassifier, hparams: { ema, noise } }) {
    const classifier = makeClassifier(2 * backbone.width, classes);
    const memory = new DomainEmbeddings(domains, backbone.width);
    return {
      modules: { backbone, classifier, memory },
      step(batch, { draw }) {
        const { features, parts } = featuresByDomain(backbone, batch);
        const embeddings = memory.follow(parts, ema);
        const context = noise
          ? draw.normalLike("noise", features)
          : cat(parts.map((part, e) => embeddings.select(0, e).expand(part.shape)));
        const logits = classifier.forward(cat([features, context], 1));
        return { loss: lossByDomain(logits, batch).sum(), features, logits };
      },
      predict(x) {
        const features = backbone.forward(x);
        const context = noise
          ? new Random(0, ["mtl", "prediction"]).normal_(features.emptyLike())
          : features.mean(0, true).expand(features.shape);
        return classifier.forward(cat([features, context], 1));
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

  /**
   * Updates the embeddings with the features of each domain and returns them. The gradient flows through the new means.
   */
  follow(parts: readonly Tensor[], ema: number): Tensor {
    const means = stack(parts.map((part) => part.mean(0)));
    const embeddings = means.mul(ema).add(this.embeddings, { alpha: 1 - ema });
    noGrad(() => this.embeddings.copy_(embeddings));
    return embeddings;
  }
}
