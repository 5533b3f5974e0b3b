/**
 * IGA (inter-environmental gradient alignment): the gradients of the domains' losses alike. With g_e the gradient of domain
 * e's loss with respect to all weights, and ḡ their mean,
 *
 *     L = mean_e ℓ_e + λ·Σ_e ‖g_e − ḡ‖².
 *
 * As in DomainBed's, a sum over domains: the paper's trace of the covariance has a mean, so its λ is E times this one. The
 * gradients are differentiated again, through the whole network. ḡ is taken as a constant, which changes nothing: its
 * derivative is multiplied by Σ_e (g_e − ḡ) = 0.
 *
 * Saved against the reference: ḡ is the mean of the g_e and needs no pass of its own. A penalty is added to the mean loss, outside
 * of the g_e.
 */

import { cat, stack } from "../engine/ops.generated.js";
import { grad, type Tensor } from "../engine/tensor.js";
import { hparam, powerOfTen } from "../hparams.js";
import { withComposedAttention } from "../nn/attention.js";
import { crossEntropy } from "../nn/index.js";
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
        // Each domain separately, so that its gradient needs a pass over its own samples only.
        const each = domains.map(({ x, y }) => {
          const features = withComposedAttention(() => backbone.forward(x)); // its gradient is differentiated
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

/** Σ_e ‖g_e − ḡ‖² of the domains' gradients, a list of tensors each; ḡ is a constant. */
export function spread(gradients: readonly (readonly (Tensor | null)[])[]): Tensor {
  const terms = gradients[0].flatMap((_, i) => {
    const own = gradients.map((all) => all[i]).filter((gradient) => gradient !== null);
    if (own.length === 0) return []; // a parameter that no loss depends on
    const all = stack(own); // [domains, …]
    return [all.sub(all.detach().mean(0)).square().sum()];
  });
  return terms.reduce((sum, term) => sum.add(term));
}
