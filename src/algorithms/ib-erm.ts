/**
 * IB-ERM adds an information bottleneck to ERM. It prefers features with low entropy among those that predict equally
 * well, and uses the variance within each domain as a surrogate for the entropy (bottleneck.ts):
 *
 *     L = mean_e ℓ_e + κ·mean_e Var(z_e).
 *
 * As in DomainBed, κ is 0 for the first `bottleneckSteps` updates, and Adam is replaced by a new one when the penalty
 * starts. DomainBed logs the whole loss as `nll` by mistake; here it is the mean cross-entropy.
 */

import { defineAlgorithm } from "./algorithm.js";
import { bottleneckHparams, featureVariance } from "./bottleneck.js";
import { lossByDomain } from "./domain-parts.js";

export const ibErm = defineAlgorithm({
  id: "ib-erm",
  title: "IB-ERM",
  paper:
    "Ahuja et al., Invariance Principle Meets Information Bottleneck for Out-of-Distribution Generalization, NeurIPS 2021, https://arxiv.org/abs/2106.06607",
  needsDomains: true,
  hparams: bottleneckHparams,

  build: ({ backbone, classifier, hparams: { bottleneckWeight, bottleneckSteps } }) => ({
    modules: { backbone, classifier },
    step(batch, { schedule }) {
      const features = backbone.forward(batch.x);
      const logits = classifier.forward(features);
      const nll = lossByDomain(logits, batch).mean();
      const variance = featureVariance(features, batch);
      const weight = schedule((step) => (step >= bottleneckSteps ? bottleneckWeight : 0));
      return {
        loss: nll.add(variance, { alpha: weight }),
        features,
        logits,
        logs: { nll, IB_penalty: variance },
        resetOptimizer: schedule((step) => step === bottleneckSteps),
      };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});
