/**
 * The common part of MMD and CORAL: the mean of the domains' losses, and a penalty that is the mean distance between
 * the features of two domains, over all pairs of domains:
 *
 *     L = (1/E) Σ_e ℓ_e + γ · 2/(E(E − 1)) Σ_{i<j} d(z_i, z_j).
 *
 * With one domain the penalty is 0.
 */

import { stack } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import type { BuildContext, LossAlgorithm } from "./algorithm.js";
import { featuresByDomain, lossByDomain } from "./domain-parts.js";

/** Returns the distance between the features of two domains, [n, width] and [m, width], a scalar. */
export type FeatureDistance = (a: Tensor, b: Tensor) => Tensor;

/** Builds an algorithm that matches the features of domains with a distance. */
export function featureMatching(
  { backbone, classifier, hparams: { gamma } }: BuildContext<{ readonly gamma: number }>,
  distance: FeatureDistance,
): LossAlgorithm {
  return {
    modules: { backbone, classifier },
    step(batch) {
      const { features, parts } = featuresByDomain(backbone, batch);
      const logits = classifier.forward(features);
      const loss = lossByDomain(logits, batch).mean();
      const distances = parts.flatMap((a, i) => parts.slice(i + 1).map((b) => distance(a, b)));
      if (distances.length === 0) return { loss, features, logits, logs: { loss, penalty: 0 } };
      const penalty = stack(distances).mean();
      return { loss: loss.add(penalty, { alpha: gamma }), features, logits, logs: { loss, penalty } };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  };
}
