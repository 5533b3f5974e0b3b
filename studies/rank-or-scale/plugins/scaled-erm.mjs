/**
 * ERM with features multiplied by a constant from the first step on, or with a temperature on the logits of the loss. Neither asks
 * for a smaller norm or a lower rank: what they gain is owed to the course of the optimization.
 */

import { crossEntropy, defineAlgorithm, hparam, powerOfTen } from "nudge-dg";

export const scaledErm = defineAlgorithm({
  id: "scaled-erm",
  title: "ScaledERM",
  paper: "a control for Shi et al., 2023, https://arxiv.org/abs/2303.07527; not in the paper",
  needsDomains: false,
  hparams: {
    featureScale: hparam(1, powerOfTen(-1, 0)),
    temperature: hparam(1, powerOfTen(0, 1)),
  },

  build: ({ backbone, classifier, hparams: { featureScale, temperature } }) => {
    /** @param {import("nudge-dg").Tensor} x */
    const features = (x) => backbone.forward(x).mul(featureScale);
    return {
      modules: { backbone, classifier },
      features,
      step({ x, y }) {
        const f = features(x);
        const logits = classifier.forward(f).div(temperature);
        return { loss: crossEntropy(logits, y), features: f, logits };
      },
      predict: (x) => classifier.forward(features(x)).div(temperature),
    };
  },
});
