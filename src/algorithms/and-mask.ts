/**
 * AND-mask keeps only the components of the gradient whose sign agrees across domains. For each parameter tensor, with
 * the gradients g_e of the domains' losses,
 *
 *     mask = 1[ |mean_e sign(g_e)| ≥ τ ],   gradient = mask ⊙ mean_e g_e / (1e-10 + mean(mask)).
 *
 * As in DomainBed, the division by the mean of the mask preserves the step size, the mask does not apply to weight
 * decay, and the gradient is 0 if no signs agree. Penalties apply to each domain's features, in the loss of that
 * domain.
 */

import { stack } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { grad, type Tensor } from "../engine/tensor.js";
import { hparam, uniform } from "../hparams.js";
import { defineAlgorithm } from "./algorithm.js";
import { type MaskOf, maskedMean, maskedMeans } from "./masked-gradients.js";
import { penalisedCrossEntropy } from "./penalised-loss.js";

export const andMask = defineAlgorithm({
  id: "and-mask",
  title: "AND-mask",
  paper:
    "Parascandolo, Neitz, Orvieto, Gresele & Schölkopf, Learning Explanations That Are Hard to Vary, ICLR 2021, https://arxiv.org/abs/2009.00329",
  needsDomains: true,
  hparams: {
    /** The required agreement of the signs; 1 means that all must agree. */
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
        const means = maskedMeans(
          parameters,
          each.map(({ gradients }) => gradients),
          signMask(tau),
        );
        for (const [i, parameter] of parameters.entries()) parameter.grad = means[i];
        optimizer.step();
        return { loss: stack(each.map(({ loss }) => loss)).mean() };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Returns the mean of the gradients of one parameter tensor, masked to the components whose signs agree. */
export const agreed = (gradients: readonly Tensor[], tau: number): Tensor => maskedMean(gradients, signMask(tau));

/** 1 where the signs of the gradients agree, 0 elsewhere. */
export const signMask =
  (tau: number): MaskOf =>
  (all) =>
    all.sign().mean(0).abs().ge(tau).toDType(all.dtype);
