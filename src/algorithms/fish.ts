/**
 * Fish: gradients of different domains should point the same way. Maximising their inner product needs second derivatives;
 * going through the domains one after the other, an optimizer step each, and then part of the way from where one began to
 * where one ended, has the same effect to first order (algorithm 1 of the paper):
 *
 *     θ̃ ← θ;  for each domain: θ̃ ← Adam's step on the domain's loss;  θ ← θ + ε(θ̃ − θ)
 *
 * As in DomainBed, which the published numbers are from: domains in their order, no ERM before (the authors' own code
 * trains with ERM first and samples the domains), Adam's moments carried from update to update, and buffers go part of
 * the way too, counters rounded down. DomainBed makes a second network for θ̃; here θ is put aside instead.
 */

import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { choice, hparam } from "../hparams.js";
import { defineAlgorithm, type Minibatch } from "./algorithm.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";
import { restoreValues, type SavedValues, saveValues } from "./saved-values.js";

export const fish = defineAlgorithm({
  id: "fish",
  title: "Fish",
  paper: "Shi et al., Gradient Matching for Domain Generalization, ICLR 2022, https://arxiv.org/abs/2104.09937",
  needsDomains: true,
  minDomains: 2,
  hparams: { metaLr: hparam(0.5, choice([0.05, 0.1, 0.5]), { reference: "meta_lr" }) },

  build({ backbone, classifier, hparams: { metaLr }, adam }) {
    const inner = adam([...backbone.parameters(), ...classifier.parameters()]);
    return {
      modules: { backbone, classifier },
      optimizers: { inner },
      update({ domains }, ctx) {
        const start = saveValues([backbone, classifier]);
        const stepOn = (domain: Minibatch): Tensor =>
          scope(() => {
            const loss = penalisedCrossEntropy({ backbone, classifier }, domain, ctx);
            inner.zeroGrad();
            loss.backward();
            inner.step();
            return loss.detach();
          });
        try {
          const losses = domains.map(stepOn);
          goPartOfTheWay(start, metaLr);
          return { loss: losses[losses.length - 1] };
        } catch (error) {
          restoreValues(start); // θ̃ is no weight of the model
          throw error;
        }
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Moves from the values put aside the given part of the way to the present ones. */
function goPartOfTheWay(start: SavedValues, part: number): void {
  noGrad(() => {
    for (const [own, from] of start) {
      scope(() => own.copy_(from.add(own.sub(from).mul(part)))); // into a counter it is copied rounded down
    }
  });
}
