/**
 * IB-IRM combines IRM's penalty (irm.ts) with an information bottleneck (bottleneck.ts),
 *
 *     L = mean_e ℓ_e + ι·mean_e P_e + κ·mean_e Var(z_e).
 *
 * As in DomainBed, ι is 1 (not 0) for the first `annealSteps` updates, κ is 0 for the first `bottleneckSteps` updates,
 * and Adam is replaced by a new one when either weight changes. DomainBed logs the whole loss as `nll` by mistake; here
 * it is the mean cross-entropy.
 */

import { stack } from "../engine/ops.generated.js";
import { defineAlgorithm } from "./algorithm.js";
import { bottleneckHparams, featureVariance } from "./bottleneck.js";
import { lossByDomain, rowsByDomain } from "./domain-parts.js";
import { irm, irmPenalty } from "./irm.js";

export const ibIrm = defineAlgorithm({
  id: "ib-irm",
  title: "IB-IRM",
  paper:
    "Ahuja et al., Invariance Principle Meets Information Bottleneck for Out-of-Distribution Generalization, NeurIPS 2021, https://arxiv.org/abs/2106.06607",
  needsDomains: true,
  hparams: { ...irm.hparams, ...bottleneckHparams },

  build: ({ backbone, classifier, hparams }) => ({
    modules: { backbone, classifier },
    step(batch, { schedule }) {
      const { penaltyWeight, annealSteps, bottleneckWeight, bottleneckSteps } = hparams;
      const features = backbone.forward(batch.x);
      const logits = classifier.forward(features);
      const nll = lossByDomain(logits, batch).mean();
      const penalties = rowsByDomain(logits, batch).map((own, e) => irmPenalty(own, batch.domains[e].y));
      const penalty = stack(penalties).mean();
      const variance = featureVariance(features, batch);
      const [onPenalty, onVariance] = [
        schedule((step) => (step >= annealSteps ? penaltyWeight : 1)),
        schedule((step) => (step >= bottleneckSteps ? bottleneckWeight : 0)),
      ];
      return {
        loss: nll.add(penalty, { alpha: onPenalty }).add(variance, { alpha: onVariance }),
        features,
        logits,
        logs: { nll, IRM_penalty: penalty, IB_penalty: variance },
        resetOptimizer: schedule((step) => step === annealSteps || step === bottleneckSteps),
      };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});
