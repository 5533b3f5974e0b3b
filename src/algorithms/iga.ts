/**
 * IGA (inter-environmental gradient alignment) aligns the gradients of the domains' losses. With g_e the gradient of
 * domain e's loss with respect to all weights, and ḡ their mean,
 *
 *     L = mean_e ℓ_e + λ·Σ_e ‖g_e − ḡ‖².
 *
 * As in DomainBed, this is a sum over domains. The paper's trace of the covariance is a mean, so its λ is E times this
 * one. The gradients are differentiated again through the whole network. ḡ is treated as a constant, which does not
 * change the result: its derivative is multiplied by Σ_e (g_e − ḡ) = 0.
 *
 * Unlike the reference, this computes ḡ as the mean of the g_e without an additional pass. Penalties are added to the
 * mean loss and are not part of the g_e.
 */

import { cat, stack } from "../engine/ops.generated.js";
import { grad, type Tensor } from "../engine/tensor.js";
import { hparam, powerOfTen } from "../hparams.js";
import { crossEntropy, withSecondDerivatives } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";

export const iga = defineAlgorithm({
  id: "iga",
  title: "IGA",
  paper:
    "Koyama & Yamaguchi, When is Invariance Useful in an Out-of-Distribution Generalization Problem?, 2020, https://arxiv.org/abs/2008.01883",
  needsDomains: true,
  hparams: { penaltyWeight: hparam(1000, powerOfTen(1, 5), { reference: "penalty" }) },

  build({ backbone, classifier, hparams: { penaltyWeight } }) {
    const parameters = [...backbone.parameters(), ...classifier.parameters()];
    return {
      modules: { backbone, classifier },
      step({ domains }) {
        // Process each domain separately, so that its gradient only needs a pass over its own samples.
        const each = domains.map(({ x, y }) => {
          const features = withSecondDerivatives(() => backbone.forward(x));
          const logits = classifier.forward(features);
          const loss = crossEntropy(logits, y);
          return {
            features,
            logits,
            loss,
            gradients: grad(loss, parameters, { createGraph: true, allowUnused: true }),
          };
        });
        const penalty = spread(each.map(({ gradients }) => gradients));
        const loss = stack(each.map((one) => one.loss)).mean();
        return {
          loss: loss.add(penalty, { alpha: penaltyWeight }),
          features: cat(each.map(({ features }) => features)),
          logits: cat(each.map(({ logits }) => logits)),
          logs: { loss, penalty },
        };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    };
  },
});

/** Returns Σ_e ‖g_e − ḡ‖² of the domains' gradients, each a list of tensors. ḡ is a constant. */
function spread(gradients: readonly (readonly (Tensor | null)[])[]): Tensor {
  // As one long vector per domain: tensor by tensor it would be a dozen launches each. A parameter that no loss depends on is null.
  const all = stack(gradients.map((own) => cat(own.flatMap((each) => each?.reshape(-1) ?? [])))); // [domains, elements]
  return all.sub(all.detach().mean(0)).square().sum();
}
