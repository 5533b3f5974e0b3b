/**
 * AND-mask: only those parts of the gradient are followed on whose sign the domains agree. For each parameter tensor, with
 * the gradients g_e of the domains' losses,
 *
 *     mask = 1[ |mean_e sign(g_e)| ≥ τ ],   gradient = mask ⊙ mean_e g_e / (1e-10 + mean(mask)).
 *
 * As in DomainBed's, the division by the share of the mask keeps the size of the step, the mask is not applied to weight
 * decay, and where no signs agree the gradient is 0. A penalty is taken of each domain's features, in that domain's loss.
 */

import { stack } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { grad, type Tensor } from "../engine/tensor.js";
import { hparam, uniform } from "../hparams.js";
import { defineAlgorithm } from "./algorithm.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";

export const andMask = defineAlgorithm({
  id: "and-mask",
  title: "AND-mask",
  paper:
    "Parascandolo, Neitz, Orvieto, Gresele & Schölkopf, Learning Explanations That Are Hard to Vary, ICLR 2021, https://arxiv.org/abs/2009.00329",
  needsDomains: true,
  hparams: {
    /** How far the signs must agree; 1: all of them. */
    tau: hparam(1, uniform(0.5, 1), { reference: "tau" }),
  },

  build({ backbone, classifier, adam, hparams: { tau } }) {
    const parameters = [...backbone.parameters(), ...classifier.parameters()];
    const optimizer = adam(parameters);
    return {
      modules: { backbone, classifier },
      optimizers: { main: optimizer },
      update({ domains }, ctx) {
        const each = domains.map((domain) =>
          scope(() => {
            const loss = penalisedCrossEntropy({ backbone, classifier }, domain, ctx);
            return { loss: loss.detach(), gradients: grad(loss, parameters, { allowUnused: true }) };
          }),
        );
        for (const [i, parameter] of parameters.entries()) {
          const gradients = each.map(({ gradients }) => gradients[i]).filter((gradient) => gradient !== null);
          // A parameter that no loss depends on has no gradient, and Adam leaves it alone.
          parameter.grad = gradients.length === 0 ? null : scope(() => agreed(gradients, tau));
        }
        optimizer.step();
        return { loss: stack(each.map(({ loss }) => loss)).mean() };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** The mean of the gradients of one parameter tensor, where their signs agree. */
export function agreed(gradients: readonly Tensor[], tau: number): Tensor {
  const all = stack(gradients); // [domains, …]
  const mask = all.sign().mean(0).abs().ge(tau).toDType(all.dtype);
  return all.mean(0).mul(mask).div(mask.mean().add(1e-10));
}
