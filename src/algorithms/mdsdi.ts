/**
 * mDSDI uses two backbones, one for domain-invariant features (φ_I) and one for domain-specific features (φ_S), and a
 * classifier on both. With a = φ_I(x), s = φ_S(x), their batch-centred values ā and s̄, and the domain d (Section 3 of
 * the paper):
 *
 *     L = CE(w([a; s]), y) + CE(h(reversed a), d) + mean_ijk (ā_ij·s̄_ik)² + CE(k(s), d)
 *
 * h, behind a gradient reversal, removes domain information from a; k keeps it in s; the third term decorrelates a and
 * s. After an Adam step on L, a second Adam takes an MLDG step (meta-gradient.ts, β = 1) on φ_S and w.
 *
 * Public variants:
 *
 * - `domainLabels`: the authors' DomainBed port resets the domain index inside its loop, so every sample belongs to
 *   domain 0   and both domain losses have no effect (`constant`). The default, `actual`, is the paper's method.
 * - `pairing` of the MLDG step: `cyclic` evaluates each domain on the next one in a random order, as in the port. It is
 *   the   default because it is what this protocol runs. `leave-one-out` trains on all other domains together and
 *   evaluates on   each one, as in the authors' trainer.
 *
 * The penalties are part of L and of the losses of the MLDG step, because both update φ_S. They apply to [φ_I; φ_S].
 */

import { Mlp } from "../backbones/index.js";
import { cat } from "../engine/ops.generated.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { variant } from "../hparams.js";
import { crossEntropy, Linear } from "../nn/index.js";
import { defineAlgorithm, type Minibatch } from "./algorithm.js";
import { cyclicPairs, inRandomOrder } from "./cyclic-pairs.js";
import { domainLabels as trueLabels } from "./domain-labels.js";
import { type MetaPair, metaGradient, toSameLength } from "./meta-gradient.js";
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
          pairing === "cyclic" ? cyclicPairs(inRandomOrder(batch, ctx.draw)).map(toSameLength) : leaveOneOut(domains);
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

/** Keeps the values and reverses the gradient: 2a − a with a constant first term. */
const reversed = (a: Tensor): Tensor => a.detach().mul(2).sub(a);

/** mean_ijk (ā_ij·s̄_ik)² as a product of two means, without the tensor [n, width, width]. */
function dependence(a: Tensor, s: Tensor): Tensor {
  const [own, other] = [a, s].map((z) => z.sub(z.mean(0, true)).square().mean(1)); // [n]
  return own.mul(other).mean();
}

/** For each domain, pairs all other domains together (for training) with that domain (for testing). */
function leaveOneOut(domains: readonly Minibatch[]): MetaPair[] {
  return domains.map((test, e) => {
    const others = domains.filter((_, i) => i !== e);
    return [{ x: cat(others.map(({ x }) => x)), y: cat(others.map(({ y }) => y)) }, test];
  });
}
