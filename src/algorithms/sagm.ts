/**
 * Sharpness-aware gradient matching minimizes the loss, the loss at the worst point nearby, and the gap between both.
 * With g = ∇L(θ), the authors' code takes Adam's step from θ with
 *
 *     ½·(g + ∇L(θ + (ρ/‖g‖₂ − α)·g))
 *
 * The paper has the sum of the two gradients, the code their mean; with Adam and no weight decay, the difference is
 * below the last digits. As in the code, the logged loss is the one at θ. The second pass draws dropout masks again,
 * and the penalties are part of both passes. The search range of α does not contain its default, as in the authors'
 * registry.
 */

import { _foreachAdd_, _foreachMulScalar_ } from "../engine/ops.generated.js";
import { noGrad } from "../engine/tensor.js";
import { choice, hparam } from "../hparams.js";
import { defineAlgorithm } from "./algorithm.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";
import { atMovedWeights, climb, gradientsOf } from "./perturbed-weights.js";

export const sagm = defineAlgorithm({
  id: "sagm",
  title: "SAGM",
  paper:
    "Wang et al., Sharpness-Aware Gradient Matching for Domain Generalization, CVPR 2023, https://arxiv.org/abs/2303.10353",
  needsDomains: false,
  hparams: {
    rho: hparam(0.05, choice([0.01, 0.02, 0.05, 0.1]), { reference: "rho" }),
    alpha: hparam(0.001, choice([0.01, 0.02, 0.05, 0.1]), { reference: "alpha" }),
  },

  build({ backbone, classifier, hparams: { rho, alpha }, adam }) {
    const parameters = [...backbone.parameters(), ...classifier.parameters()];
    const main = adam(parameters);
    return {
      modules: { backbone, classifier },
      optimizers: { main },
      update(batch, ctx) {
        const compute = () => penalisedCrossEntropy({ backbone, classifier }, batch, ctx);
        const { loss, gradients } = gradientsOf(compute, parameters);
        const perturbed = atMovedWeights(parameters, climb(gradients, rho, alpha), () =>
          gradientsOf(compute, parameters),
        );
        noGrad(() => {
          _foreachAdd_(perturbed.gradients, gradients);
          _foreachMulScalar_(perturbed.gradients, 0.5);
          for (const [i, parameter] of parameters.entries()) parameter.grad = perturbed.gradients[i];
        });
        main.step();
        return { loss };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});
