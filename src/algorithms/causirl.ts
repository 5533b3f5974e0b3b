/**
 * The common part of CausIRL with CORAL and with MMD. The samples of each domain are split at a random position, and
 * the features of all first parts should have the same distribution as those of all second parts. This gives invariance
 * across domains without comparing specific pairs of domains.
 *
 *     L = mean_e ℓ_e + γ·d(F, S),   F = ∪_e z_e[0:s_e],  S = ∪_e z_e[s_e:],  s_e uniform in {0, …, n_e − 1}
 *
 * As in DomainBed, d is 0 if one side has at most one sample. Both distances use a weight for each sample, which is 0
 * on the other side. A split then changes values but no shapes, so the update can be captured in a CUDA graph.
 */

import { arange, cat } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { hparam, powerOfTen } from "../hparams.js";
import { toFullPrecision } from "../nn/index.js";
import type { BuildContext, LossAlgorithm } from "./algorithm.js";
import { featuresByDomain, lossByDomain } from "./domain-parts.js";

export const causirlHparams = {
  /** The weight of the distance. */
  gamma: hparam(1, powerOfTen(-1, 1), { reference: "mmd_gamma" }),
};

/**
 * The sides of a split: for each sample 1 on its own side and 0 on the other, and the number of samples, at least 1.
 */
export interface Cut {
  readonly first: Tensor; // [n, 1]
  readonly second: Tensor; // [n, 1]
  readonly firstCount: Tensor; // []
  readonly secondCount: Tensor; // []
}

/** Returns the distance between the features of the two sides, a scalar. */
export type CutDistance = (z: Tensor, cut: Cut) => Tensor;

/** Builds CausIRL with a distance. */
export function buildCausirl(
  { backbone, classifier, hparams: { gamma } }: BuildContext<{ readonly gamma: number }>,
  distance: CutDistance,
): LossAlgorithm {
  return {
    modules: { backbone, classifier },
    step(batch, { draw }) {
      const { features } = featuresByDomain(backbone, batch);
      const logits = classifier.forward(features);
      const loss = lossByDomain(logits, batch).mean();
      const z = toFullPrecision(features);
      const second = cat(
        batch.domains.map(({ y }) =>
          arange(0, y.rows, 1, { dtype: "int64", device: z.device })
            .ge(draw.integerLike("cut", y.rows, z))
            .toDType(z.dtype),
        ),
      ).unsqueeze(1);
      const first = second.neg().add(1);
      const counts = [first.sum(), second.sum()];
      const [firstCount, secondCount] = counts.map((count) => count.clamp(1));
      const both = counts[0].gt(1).logicalAnd(counts[1].gt(1));
      const distances = distance(z, { first, second, firstCount, secondCount });
      const penalty = distances.where(both, 0);
      return { loss: loss.add(penalty, { alpha: gamma }), features, logits, logs: { loss, penalty } };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  };
}
