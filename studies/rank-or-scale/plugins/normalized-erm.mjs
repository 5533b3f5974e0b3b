/**
 * ERM on features of a constant norm: every row f of the features becomes c·f/‖f‖ before the head reads it. The scale of the
 * features is then fixed, so a penalty on them can change nothing but their directions, and with these their rank.
 */

import { crossEntropy, defineAlgorithm, hparam, uniform } from "nudge-dg";

export const normalizedErm = defineAlgorithm({
  id: "normalized-erm",
  title: "NormERM",
  paper: "a control for Shi et al., 2023, https://arxiv.org/abs/2303.07527; not in the paper",
  needsDomains: false,
  hparams: {
    // The norm that a row has on average late in training under ERM-NU on PACS with MobileNetV2 (docs/study.md).
    featureNorm: hparam(19, uniform(10, 40)),
  },

  build: ({ backbone, classifier, hparams }) => {
    /** @param {import("nudge-dg").Tensor} x */
    const features = (x) => {
      const raw = backbone.forward(x); // [n, width]
      return raw.mul(raw.norm(1, { keepdim: true }).add(1e-12).reciprocal().mul(hparams.featureNorm));
    };
    return {
      modules: { backbone, classifier },
      features,
      step({ x, y }) {
        const f = features(x);
        const logits = classifier.forward(f);
        return { loss: crossEntropy(logits, y), features: f, logits };
      },
      predict: (x) => classifier.forward(features(x)),
    };
  },
});
