/**
 * Fish aligns the gradients of different domains. Maximizing their inner product needs second derivatives. To first
 * order, the following has the same effect: take one optimizer step per domain, one domain after the other, and then
 * move part of the way from the initial to the final weights (Algorithm 1 of the paper):
 *
 *     θ̃ ← θ;  for each domain: θ̃ ← Adam's step on the domain's loss;  θ ← θ + ε(θ̃ − θ)
 *
 * As in DomainBed, from which the published numbers come: the domains keep their order, there is no ERM phase before
 * (the authors' code first trains with ERM and samples the domains), Adam's moments persist between updates, and
 * buffers are interpolated too, with counters rounded down. DomainBed creates a second network for θ̃; here θ is saved
 * and restored.
 */

import { copyAll } from "../engine/many-tensors.js";
import { _foreachAdd, _foreachMulScalar, _foreachSub } from "../engine/ops.generated.js";
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
          interpolateFrom(start, metaLr);
          return { loss: losses[losses.length - 1] };
        } catch (error) {
          restoreValues(start); // θ̃ must not remain in the model
          throw error;
        }
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Moves from the saved values towards the current ones by the given fraction; counters are rounded down. */
function interpolateFrom(start: SavedValues, part: number): void {
  const [weights, counters] = [true, false].map((isFloat) =>
    [...start].filter(([own]) => own.dtype.includes("float") === isFloat),
  );
  noGrad(() =>
    scope(() => {
      for (const [own, from] of counters) own.copy_(from.add(own.sub(from).mul(part)));
      const [present, before] = [0, 1].map((side) => weights.map((pair) => pair[side]));
      const way = _foreachMulScalar(_foreachSub(present, before), part);
      copyAll(present, _foreachAdd(before, way));
    }),
  );
}
