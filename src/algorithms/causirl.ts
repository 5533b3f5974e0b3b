/**
 * What CausIRL with CORAL and with MMD share: each domain's samples are cut in two at a random place, and the features of
 * all first parts are to be distributed as those of all second parts are. Across domains that asks for invariance without
 * comparing any two of them by name.
 *
 *     L = mean_e ℓ_e + γ·d(F, S),   F = ∪_e z_e[0:s_e],  S = ∪_e z_e[s_e:],  s_e uniform in {0, …, n_e − 1}
 *
 * As in DomainBed's, d is 0 where one side has at most one sample. Both distances are written with a weight for each sample,
 * 0 on the other side, so that a cut changes numbers and no shapes and the update can be captured.
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

/** The sides of a cut: for each sample 1 on its own side and 0 on the other, and how many there are, at least 1. */
export interface Cut {
  readonly first: Tensor; // [n, 1]
  readonly second: Tensor; // [n, 1]
  readonly firstCount: Tensor; // []
  readonly secondCount: Tensor; // []
}

/** How far the two sides' features are from each other; a scalar. */
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
      const apart = distance(z, { first, second, firstCount, secondCount });
      const penalty = apart.where(both, 0);
      return { loss: loss.add(penalty, { alpha: gamma }), features, logits, logs: { loss, penalty } };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  };
}
