/**
 * VREx minimizes the mean of the domains' losses, with their variance as a penalty (Equation 8 of the paper),
 *
 *     L = μ + β·(1/E) Σ_e (ℓ_e − μ)²,   μ = (1/E) Σ_e ℓ_e.
 *
 * The penalty starts after some updates: see annealed-penalty.ts. DomainBed logs the last domain's cross-entropy as
 * `nll` by mistake; here it is μ.
 */

import { hparam, powerOfTen, powerOfTenInteger } from "../hparams.js";
import { defineAlgorithm } from "./algorithm.js";
import { annealed } from "./annealed-penalty.js";
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

  build: ({ backbone, classifier, hparams }) => ({
    modules: { backbone, classifier },
    step(batch, ctx) {
      const features = backbone.forward(batch.x);
      const logits = classifier.forward(features);
      const losses = lossByDomain(logits, batch);
      const nll = losses.mean();
      const penalty = losses.variance(0, { correction: 0 });
      return { ...annealed({ nll, penalty }, hparams, ctx), features, logits };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});
