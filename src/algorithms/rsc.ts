/**
 * RSC (representation self-challenging) sets the features that contribute most to the correct class to zero, so that
 * the network has to use the other features.
 *
 * With z = φ(X) and g = ∂(Σ_i l_{i,y_i})/∂z, a feature of a sample is kept if g is below the sample's (1 − f) quantile.
 * The features are dropped only for the share b of samples whose probability of the correct class decreases most; the
 * other samples keep all features. L = CE(w(z ⊙ mask), Y). No gradient flows through the mask.
 *
 * Penalties apply to z, not to the masked features.
 */

import type { Tensor } from "../engine/tensor.js";
import { grad, noGrad } from "../engine/tensor.js";
import { hparam, uniform } from "../hparams.js";
import { crossEntropy, type Layer, toFullPrecision } from "../nn/index.js";
import { defineAlgorithm } from "./algorithm.js";

export const rsc = defineAlgorithm({
  id: "rsc",
  title: "RSC",
  paper:
    "Huang, Wang, Xing & Huang, Self-Challenging Improves Cross-Domain Generalization, ECCV 2020, https://arxiv.org/abs/2007.02454",
  needsDomains: false,
  hparams: {
    /** f: the share of features that are dropped. */
    featureDrop: hparam(1 / 3, uniform(0, 0.5), { reference: "rsc_f_drop_factor" }),
    /** b: the share of samples whose features are dropped. */
    sampleDrop: hparam(1 / 3, uniform(0, 0.5), { reference: "rsc_b_drop_factor" }),
  },

  build: ({ backbone, classifier, hparams: { featureDrop, sampleDrop } }) => ({
    modules: { backbone, classifier },
    step({ x, y }) {
      const features = backbone.forward(x);
      const mask = keptFeatures(classifier, features.detach(), y, { featureDrop, sampleDrop });
      const logits = classifier.forward(features.mul(mask));
      return { loss: crossEntropy(logits, y), features, logits };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  }),
});

/** Returns the mask [n, width]: 1 for features that are kept and 0 for features that are dropped. */
export function keptFeatures(
  classifier: Layer,
  z: Tensor,
  y: Tensor,
  { featureDrop, sampleDrop }: { featureDrop: number; sampleDrop: number },
): Tensor {
  const right = y.toDType("int64").unsqueeze(1); // [n, 1]
  const input = z.detach().requiresGrad_();
  const logits = toFullPrecision(classifier.forward(input));
  const [gradient] = grad(logits.gather(1, right).sum(), [input]);
  return noGrad(() => {
    const below = gradient.lt(quantile(gradient, 1 - featureDrop));
    const muted = toFullPrecision(classifier.forward(z.mul(below)));
    const probability = (l: Tensor) => l.softmax(1).gather(1, right).squeeze(1);
    const fall = probability(logits).sub(probability(muted)).unsqueeze(0); // [1, n]
    const spared = fall.lt(quantile(fall, 1 - sampleDrop)).t(); // [n, 1]
    return below.logicalOr(spared).toDType(z.dtype);
  });
}

/**
 * Returns the quantile of each row, [n, 1], by linear interpolation between order statistics. The position is computed
 * as in NumPy, because it decides on which side of the threshold a value equal to the threshold falls.
 */
export function quantile(x: Tensor, share: number): Tensor {
  const [sorted] = x.sort(1);
  const position = ((share * 100) / 100) * (x.size(1) - 1);
  const [low, high] = [Math.floor(position), Math.ceil(position)];
  return sorted.narrow(1, low, 1).lerp(sorted.narrow(1, high, 1), position - low);
}
