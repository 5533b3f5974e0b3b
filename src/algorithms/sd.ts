/**
 * SD (spectral decoupling) penalizes the magnitude of the logits, so that one strong feature does not starve the others
 * of gradient (Section 4 of the paper),
 *
 *     L = CE(f(X), Y) + λ·mean_ik l_ik².
 *
 * As in DomainBed, the mean is over all logits. The paper has (λ'/2)·mean_i ‖l_i‖², which is the same for λ' =
 * 2λ/classes, and uses it instead of weight decay.
 */

import { hparam, powerOfTen } from "../hparams.js";
import { crossEntropy, toFullPrecision } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";

export const sd = defineAlgorithm({
  id: "sd",
  title: "SD",
  paper:
    "Pezeshki et al., Gradient Starvation: A Learning Proclivity in Neural Networks, NeurIPS 2021, https://arxiv.org/abs/2011.09468",
  needsDomains: false,
  hparams: { penaltyWeight: hparam(0.1, powerOfTen(-5, -1), { reference: "sd_reg" }) },

  build: ({ backbone, classifier, hparams: { penaltyWeight } }) => ({
    modules: { backbone, classifier },
    step({ x, y }) {
      const features = backbone.forward(x);
      const logits = classifier.forward(features);
      const loss = crossEntropy(logits, y);
      const penalty = toFullPrecision(logits).square().mean();
      return { loss: loss.add(penalty, { alpha: penaltyWeight }), features, logits, logs: { loss, penalty } };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});
