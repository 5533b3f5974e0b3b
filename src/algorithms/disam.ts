/**
 * Domain-inspired sharpness-aware minimization climbs less on the domains that converged already: the climb of SAM
 * follows the loss minus the variance of the domains' losses, the descent the loss alone:
 *
 *     ε = ρ·g/‖g‖₂,  g = ∇(L(θ) − λ·Var_e(L_e(θ)));   then Adam's step from θ with ∇L(θ + ε)
 *
 * As in the authors' code, L is the mean over all samples of the batch, L_e the mean of a domain, and the variance is
 * that of a population. The code trains with SGD and ρ = 0.01; here the optimizer is that of the run, and ρ is SAM's.
 * The second pass draws dropout masks again, and the penalties are part of both passes.
 */

import { choice, hparam, powerOfTen } from "../hparams.js";
import { crossEntropy } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";
import { lossByDomain } from "./domain-parts.js";
import { addPenalty, penalisedCrossEntropy } from "./penalised-loss.js";
import { atMovedWeights, climb, gradientsOf } from "./perturbed-weights.js";

export const disam = defineAlgorithm({
  id: "disam",
  title: "DISAM",
  paper:
    "Zhang et al., Domain-Inspired Sharpness-Aware Minimization Under Domain Shifts, ICLR 2024, https://arxiv.org/abs/2405.18861",
  needsDomains: true,
  hparams: {
    rho: hparam(0.05, choice([0.01, 0.02, 0.05, 0.1]), { reference: "rho" }),
    lambda: hparam(0.1, powerOfTen(-2, 0), { reference: "lambda_weight" }),
  },

  build({ backbone, classifier, hparams: { rho, lambda }, adam }) {
    const parameters = [...backbone.parameters(), ...classifier.parameters()];
    const main = adam(parameters);
    return {
      modules: { backbone, classifier },
      optimizers: { main },
      update(batch, ctx) {
        const climbed = () => {
          const features = backbone.forward(batch.x);
          const logits = classifier.forward(features);
          const variance = lossByDomain(logits, batch).variance(0, { correction: 0 });
          return addPenalty(crossEntropy(logits, batch.y).sub(variance.mul(lambda)), ctx, features, logits);
        };
        const { gradients } = gradientsOf(climbed, parameters);
        main.zeroGrad();
        const loss = atMovedWeights(parameters, climb(gradients, rho), () => {
          const value = penalisedCrossEntropy({ backbone, classifier }, batch, ctx);
          value.backward();
          return value;
        });
        main.step();
        return { loss };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});
