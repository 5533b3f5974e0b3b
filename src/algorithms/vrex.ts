/**
 * VREx: the mean of the domains' losses and, as penalty, their variance (the paper's equation 8),
 *
 *     L = μ + β·(1/E) Σ_e (ℓ_e − μ)²,   μ = (1/E) Σ_e ℓ_e.
 *
 * As in the reference implementations, β is 1 (not 0) for the first `annealSteps` updates; at the update where it becomes
 * `penaltyWeight`, Adam starts anew. DomainBed logs the last domain's cross-entropy as `nll`, by a slip; here it is μ.
 */

import { hparam, powerOfTen, powerOfTenInteger } from "../hparams.js";
import { defineAlgorithm } from "./algorithm.js";
import { lossByDomain } from "./domain-parts.js";

export const vrex = defineAlgorithm({
  id: "vrex",
  title: "VREx",
  paper:
    "Krueger et al., Out-of-Distribution Generalization via Risk Extrapolation (REx), ICML 2021, https://arxiv.org/abs/2003.00688",
  needsDomains: true,
  hparams: {
    penaltyWeight: hparam(10, powerOfTen(-1, 5), { reference: "vrex_lambda" }),
    annealSteps: hparam(500, powerOfTenInteger(0, 4), { reference: "vrex_penalty_anneal_iters" }),
  },

  build: ({ backbone, classifier, hparams: { penaltyWeight, annealSteps } }) => ({
    modules: { backbone, classifier },
    step(batch, { step }) {
      const features = backbone.forward(batch.x);
      const logits = classifier.forward(features);
      const losses = lossByDomain(logits, batch);
      const nll = losses.mean();
      const penalty = losses.variance(0, { correction: 0 });
      const weight = step >= annealSteps ? penaltyWeight : 1;
      return {
        loss: nll.add(penalty, { alpha: weight }),
        features,
        logits,
        logs: { nll, penalty },
        resetOptimizer: step === annealSteps,
      };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});
