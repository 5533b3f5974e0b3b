/**
 * Sharpness-aware minimization: the gradient is taken not where the weights are but at the worst point near them, to
 * first order (equations 2 and 3 of the paper, p = 2):
 *
 *     ε = ρ·g/‖g‖₂,  g = ∇L(θ);   then Adam's step from θ with ∇L(θ + ε)
 *
 * One norm over all parameters together, as in SWAD's code, which the published domain generalization numbers are from.
 * Dropout is drawn again in the second pass, and the penalties count in both.
 */

import { _foreachAdd_, _foreachNorm, stack } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { grad, noGrad, type Tensor } from "../engine/tensor.js";
import { choice, hparam } from "../hparams.js";
import { defineAlgorithm } from "./algorithm.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";

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
        const away = scope(() => perturbation(grad(loss(), parameters), rho));
        main.zeroGrad();
        const there = atPoint(parameters, away, () => {
          const value = loss();
          value.backward();
          return value;
        });
        main.step();
        return { loss: there };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Does something with the parameters moved, and moves them back. */
function atPoint<T>(parameters: readonly Tensor[], away: readonly Tensor[], action: () => T): T {
  noGrad(() => _foreachAdd_(parameters, away));
  try {
    return action();
  } finally {
    noGrad(() => _foreachAdd_(parameters, away, { alpha: -1 }));
  }
}

/** ρ·g/‖g‖₂ of all gradients together. */
function perturbation(gradients: readonly Tensor[], rho: number): Tensor[] {
  return noGrad(() => {
    const norm = stack(_foreachNorm(gradients)).norm();
    // The floor is out of reach of any gradient but a zero one, which then moves nothing instead of making 0/0.
    const factor = norm.clamp(1e-30).reciprocal().mul(rho);
    return gradients.map((gradient) => gradient.mul(factor));
  });
}
