/**
 * Sharpness-aware minimization evaluates the gradient at the worst point near the weights, to first order (Equations 2
 * and 3 of the paper, p = 2):
 *
 *     ε = ρ·g/‖g‖₂,  g = ∇L(θ);   then Adam's step from θ with ∇L(θ + ε)
 *
 * There is one norm over all parameters together, as in SWAD's code, from which the published domain generalization
 * numbers come. The second pass draws dropout masks again, and the penalties are part of both passes.
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
        const offsets = scope(() => perturbation(grad(loss(), parameters), rho));
        main.zeroGrad();
        const perturbedLoss = withPerturbation(parameters, offsets, () => {
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

/** Runs `action` with perturbed parameters, and restores them afterwards. */
function withPerturbation<T>(parameters: readonly Tensor[], offsets: readonly Tensor[], action: () => T): T {
  noGrad(() => _foreachAdd_(parameters, offsets));
  try {
    return action();
  } finally {
    noGrad(() => _foreachAdd_(parameters, offsets, { alpha: -1 }));
  }
}

/** Returns ρ·g/‖g‖₂ with the norm of all gradients together. */
function perturbation(gradients: readonly Tensor[], rho: number): Tensor[] {
  return noGrad(() => {
    const norm = stack(_foreachNorm(gradients)).norm();
    // Only a zero gradient is below the floor. The perturbation is then zero instead of 0/0.
    const factor = norm.clamp(1e-30).reciprocal().mul(rho);
    return gradients.map((gradient) => gradient.mul(factor));
  });
}
