/**
 * Surrogate gap guided sharpness-aware minimization: SAM's gradient, less a share of the part of the gradient at θ that
 * is orthogonal to it, so that the gap L(θ + ε) − L(θ) shrinks too. With g = ∇L(θ),
 * ε = ρ·g/‖g‖₂ and p = ∇L(θ + ε), Adam's step from θ uses
 *
 *     p − α·(g − ⟨g, p⟩/‖p‖² · p)
 *
 * The paper lets ρ follow the learning rate, which is constant here by default, and so is ρ. As in the authors' code,
 * the logged loss is the one at θ. The second pass draws dropout masks again, and the penalties are part of both
 * passes. There are no published ranges for DomainBed: those of ρ are SAM's, and those of α are SAGM's.
 */

import { _foreachAdd_, stack } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { choice, hparam } from "../hparams.js";
import { defineAlgorithm } from "./algorithm.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";
import { atMovedWeights, climb, gradientsOf, normOf } from "./perturbed-weights.js";

export const gsam = defineAlgorithm({
  id: "gsam",
  title: "GSAM",
  paper:
    "Zhuang et al., Surrogate Gap Minimization Improves Sharpness-Aware Training, ICLR 2022, https://arxiv.org/abs/2203.08065",
  needsDomains: false,
  hparams: {
    rho: hparam(0.05, choice([0.01, 0.02, 0.05, 0.1])),
    alpha: hparam(0.01, choice([0.01, 0.02, 0.05, 0.1])),
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
        const perturbed = atMovedWeights(parameters, climb(gradients, rho), () => gradientsOf(compute, parameters));
        const descent = withoutOrthogonal(perturbed.gradients, gradients, alpha);
        for (const [i, parameter] of parameters.entries()) parameter.grad = descent[i];
        main.step();
        return { loss };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Returns p − α·(g − c·p), where c·p is the part of g along p, for all tensors as one long vector. */
function withoutOrthogonal(p: readonly Tensor[], g: readonly Tensor[], alpha: number): Tensor[] {
  return noGrad(() =>
    scope(() => {
      const product = stack(p.map((each, i) => each.mul(g[i]).sum())).sum();
      const along = product.div(normOf(p).square().clamp(1e-30)); // a zero gradient has no direction
      const kept = along.mul(alpha).add(1);
      const made = p.map((each) => each.mul(kept));
      _foreachAdd_(made, g, { alpha: -alpha });
      return made;
    }),
  );
}
