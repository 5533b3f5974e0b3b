/**
 * Mixup between domains interpolates the pictures and losses of pairs of domains, with one λ ~ Beta(α, α) per pair,
 *
 *     L = (1/E) Σ_pairs [ λ·CE(f(x), y_i) + (1 − λ)·CE(f(x), y_j) ],   x = λ·x_i + (1 − λ)·x_j.
 *
 * Public variants:
 *
 * - The search range of α. DomainBed before 2023, SWAD and NU's code have 10^U(−1, −1), a mistake that makes α always
 *   0.1,   and the published numbers were computed with it. The range here is the intended one; `alpha=0.1` reproduces
 *   theirs.
 * - SWAD also has a variant without domain labels: one λ, and a random order of the whole batch for the partners. Set
 *   `betweenDomains=false`. The default is DomainBed's variant, whose numbers the paper's table cites.
 *
 * Penalties apply to the mixed features of each pair and are divided by E, like the pair's cross-entropy.
 */

import type { Tensor } from "../engine/tensor.js";
import { hparam, powerOfTen, variant } from "../hparams.js";
import { crossEntropy } from "../nn/index.js";
import { defineAlgorithm, type Minibatch } from "./algorithm.js";
import { cyclicPairs, inRandomOrder } from "./cyclic-pairs.js";
import { featuresOfParts } from "./domain-parts.js";
import { addPenalty } from "./penalised-loss.js";

export const mixup = defineAlgorithm({
  id: "mixup",
  title: "Mixup",
  paper:
    "Yan, Song, Li, Zou & Ren, Improve Unsupervised Domain Adaptation with Mixup Training, 2020, https://arxiv.org/abs/2001.00677",
  needsDomains: true,
  domainFree: { betweenDomains: false },
  hparams: {
    /** The parameter of Beta(α, α). With a smaller α, λ is closer to 0 or 1. */
    alpha: hparam(0.2, powerOfTen(-1, 1), { reference: "mixup_alpha" }),
    betweenDomains: variant([true, false]),
  },

  build: ({ backbone, classifier, hparams: { alpha, betweenDomains } }) => ({
    modules: { backbone, classifier },
    step(batch, ctx) {
      const { domains, x, y } = batch;
      const { draw } = ctx;
      if (!betweenDomains) {
        const order = draw.order("order", x.rows, x);
        const mixed = mix({ x, y }, { x: x.take(order), y: y.take(order) }, draw.betaLike("lambda", alpha, alpha, x));
        const features = backbone.forward(mixed.x);
        const logits = classifier.forward(features);
        return { loss: mixed.loss(logits), features, logits, labels: null };
      }
      const pairs = cyclicPairs(inRandomOrder(batch, draw));
      const mixed = pairs.map(([first, second]) => mix(first, second, draw.betaLike("lambda", alpha, alpha, x)));
      const { parts } = featuresOfParts(
        backbone,
        mixed.map((each) => each.x),
      );
      const losses = parts.map((features, i) => {
        const logits = classifier.forward(features);
        return addPenalty(mixed[i].loss(logits), ctx, features, logits, null);
      });
      return { loss: losses.reduce((sum, each) => sum.add(each)).div(domains.length), features: null };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});

interface Mixed {
  readonly x: Tensor;
  loss(logits: Tensor): Tensor;
}

/** λ·first + (1 − λ)·second, truncated to the number of samples of the shorter one. */
function mix(first: Minibatch, second: Minibatch, lambda: Tensor): Mixed {
  const rows = Math.min(first.x.rows, second.x.rows);
  const [a, b] = [first, second].map(({ x, y }) => ({ x: x.narrow(0, 0, rows), y: y.narrow(0, 0, rows) }));
  const rest = lambda.neg().add(1);
  return {
    x: a.x.mul(lambda).add(b.x.mul(rest)),
    loss: (logits) => crossEntropy(logits, a.y).mul(lambda).add(crossEntropy(logits, b.y).mul(rest)),
  };
}
