/** Empirical risk minimization: pool the training domains, minimize the mean cross-entropy. */

import { crossEntropy } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";

export const erm = defineAlgorithm({
  id: "erm",
  title: "ERM",
  paper: "Vapnik, Statistical Learning Theory, 1998",
  needsDomains: false,
  hparams: {},

  build: ({ backbone, classifier }) => ({
    modules: { backbone, classifier },
    step({ x, y }) {
      const features = backbone.forward(x); // [batch, width]
      const logits = classifier.forward(features); // [batch, classes]
      return { loss: crossEntropy(logits, y), features, logits };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});
