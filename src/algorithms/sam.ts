/**
 * Sharpness-aware minimization evaluates the gradient at the worst point near the weights, to first order (Equations 2
 * and 3 of the paper, p = 2):
 *
 *     ε = ρ·g/‖g‖₂,  g = ∇L(θ);   then Adam's step from θ with ∇L(θ + ε)
 *
 * The second pass draws dropout masks again, and the penalties are part of both passes.
 */

import { choice, hparam } from "../hparams.js";
import { defineAlgorithm } from "./algorithm.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";
import { atMovedWeights, climb, gradientsOf } from "./perturbed-weights.js";

export const sam = defineAlgorithm({
  id: "sam",
  title: "SAM",
  paper:
    "Foret et al., Sharpness-Aware Minimization for Efficiently Improving Generalization, ICLR 2021, https://arxiv.org/abs/2010.01412",
  needsDomains: false,
  hparams: { rho: hparam(0.05, choice([0.01, 0.02, 0.05, 0.1]), { reference: "rho" }) },

  build({ backbone, classifier, hparams: { rho }, adam }) {
    const parameters = [...backbone.parameters(), ...classifier.parameters()];
    const main = adam(parameters);
    return {
      modules: { backbone, classifier },
      optimizers: { main },
      update(batch, ctx) {
        const loss = () => penalisedCrossEntropy({ backbone, classifier }, batch, ctx);
        const { gradients } = gradientsOf(loss, parameters);
        main.zeroGrad();
        const perturbedLoss = atMovedWeights(parameters, climb(gradients, rho), () => {
          const value = loss();
          value.backward();
          return value;
        });
        main.step();
        return { loss: perturbedLoss };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});
