/**
 * An algorithm in one file, outside the library: spectral decoupling, in DomainBed's form. It keeps the logits small, so that the network
 * does not rely on the first feature that classifies well:
 *
 *     L = CE(l, y) + λ·mean(l²),   l = w(φ(x))
 *
 * The loop does the rest: backward, Adam, penalties such as the nuclear norm on the features returned, averages of the
 * weights, saving and resuming.
 */

import { crossEntropy, defineAlgorithm, hparam, powerOfTen } from "nudge-dg";

export const spectralDecoupling = defineAlgorithm({
  id: "spectral-decoupling",
  title: "MySD",
  paper:
    "Pezeshki et al., Gradient Starvation: A Learning Proclivity in Neural Networks, NeurIPS 2021, https://arxiv.org/abs/2011.09468",
  needsDomains: false,
  hparams: { penaltyWeight: hparam(0.1, powerOfTen(-5, -1), { reference: "sd_reg" }) },

  build: ({ backbone, classifier, hparams: { penaltyWeight } }) => ({
    modules: { backbone, classifier },
    step({ x, y }) {
      const features = backbone.forward(x); // [n, width]
      const logits = classifier.forward(features); // [n, classes]
      const penalty = logits.square().mean();
      const loss = crossEntropy(logits, y).add(penalty, { alpha: penaltyWeight });
      return { loss, features, logits, logs: { penalty } };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});
