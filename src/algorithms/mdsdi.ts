/**
 * mDSDI: two backbones, one for what all domains share (φ_I) and one for what is particular to a domain (φ_S), and a
 * classifier on both. With a = φ_I(x), s = φ_S(x), centred over the batch ā and s̄, and d the domain (section 3 of the paper):
 *
 *     L = CE(w([a; s]), y) + CE(h(reversed a), d) + mean_ijk (ā_ij·s̄_ik)² + CE(k(s), d)
 *
 * h, behind a gradient reversal, drives domains out of a; k keeps them in s; the third term keeps a and s apart. After an
 * Adam step on all of it, a second Adam takes an MLDG step (meta-gradient.ts, β = 1) on φ_S and w.
 *
 * Public variants:
 * - `domainLabels`: the authors' DomainBed port sets the domain's index back inside its loop, so every sample is of domain 0
 *   and both domain losses are void (`constant`). The default `actual` is the paper's method.
 * - `pairing` of the MLDG step: `cyclic`, each domain tried on the next in a random order, is the port's, and the default as
 *   it is the one that runs in this protocol; `leave-one-out`, all other domains together tried on each, the trainer's.
 *
 * The penalties count in L and in the losses of the MLDG step, as both move φ_S; they are taken of [φ_I; φ_S].
 */

import { Mlp } from "../backbones/index.js";
import { cat } from "../engine/ops.generated.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { variant } from "../hparams.js";
import { crossEntropy, Linear } from "../nn/index.js";
import { defineAlgorithm, type Minibatch } from "./algorithm.js";
import { cyclicPairs, inRandomOrder } from "./cyclic-pairs.js";
import { domainLabels as trueLabels } from "./domain-labels.js";
import { type MetaPair, metaGradient, ofOneLength } from "./meta-gradient.js";
import { addPenalty } from "./penalised-loss.js";
import { variantOf } from "./variant.js";

const LABELS = ["actual", "constant"] as const;
const PAIRINGS = ["cyclic", "leave-one-out"] as const;

export const mdsdi = defineAlgorithm({
  id: "mdsdi",
  title: "mDSDI",
  paper:
    "Bui et al., Exploiting Domain-Specific Features to Enhance Domain Generalization, NeurIPS 2021, https://arxiv.org/abs/2110.09410",
  needsDomains: true,
  minDomains: 2,
  hparams: {
    domainLabels: variant(LABELS),
    pairing: variant(PAIRINGS),
  },

  build({ backbone: invariant, copyBackbone, makeClassifier, classes, domains: count, hparams, adam }) {
    const labels = variantOf("domainLabels of mDSDI", hparams.domainLabels, LABELS);
    const pairing = variantOf("pairing of mDSDI", hparams.pairing, PAIRINGS);
    const { width } = invariant;
    const specific = copyBackbone();
    const classifier = makeClassifier(2 * width, classes);
    const discriminator = new Mlp({ inputShape: [width], width, outputs: count });
    const domainClassifier = new Linear(width, count);
    const modules = { backbone: invariant, specific, classifier, discriminator, domainClassifier };
    const optimizers = {
      all: adam(Object.values(modules).flatMap((module) => module.parameters())),
      meta: adam([...specific.parameters(), ...classifier.parameters()]),
    };

    return {
      modules,
      optimizers,
      update(batch, ctx) {
        const { x, y, domains } = batch;
        const d = labels === "actual" ? trueLabels(batch) : trueLabels(batch).mul(0);
        const a = invariant.forward(x); // [n, width]
        const s = specific.forward(x); // [n, width]
        const features = cat([a, s], 1); // [n, 2·width]
        const logits = classifier.forward(features);
        const domainLoss = crossEntropy(discriminator.forward(reversed(a)), d).add(
          crossEntropy(domainClassifier.forward(s), d),
        );
        const joint = crossEntropy(logits, y).add(domainLoss).add(dependence(a, s));
        const loss = addPenalty(joint, ctx, features, logits);
        optimizers.all.zeroGrad();
        loss.backward();
        optimizers.all.step();

        const pairs =
          pairing === "cyclic" ? cyclicPairs(inRandomOrder(batch, ctx.draw)).map(ofOneLength) : leaveOneOut(domains);
        const metaLoss = metaGradient({
          modules: [specific, classifier],
          pairs,
          domains: domains.length,
          beta: 1,
          adam,
          loss(samples) {
            const shared = noGrad(() => invariant.forward(samples.x));
            const both = cat([shared, specific.forward(samples.x)], 1);
            const scores = classifier.forward(both);
            return addPenalty(crossEntropy(scores, samples.y), ctx, both, scores, { y: samples.y });
          },
        });
        optimizers.meta.step();
        return { loss: loss.detach().add(metaLoss) };
      },
      predict: (x) => classifier.forward(cat([invariant.forward(x), specific.forward(x)], 1)),
    };
  },
});

/** The same values, and gradients of the other sign: 2a − a, the first a constant. */
const reversed = (a: Tensor): Tensor => a.detach().mul(2).sub(a);

/** mean_ijk (ā_ij·s̄_ik)², as the product of two means: the tensor [n, width, width] need not be made. */
function dependence(a: Tensor, s: Tensor): Tensor {
  const [own, other] = [a, s].map((z) => z.sub(z.mean(0, true)).square().mean(1)); // [n]
  return own.mul(other).mean();
}

/** Each domain tried on by all others together. */
function leaveOneOut(domains: readonly Minibatch[]): MetaPair[] {
  return domains.map((test, e) => {
    const others = domains.filter((_, i) => i !== e);
    return [{ x: cat(others.map(({ x }) => x)), y: cat(others.map(({ y }) => y)) }, test];
  });
}
