/**
 * The common part of CAD and CondCAD: L = CE(w(z), y) + λ·R, where R is a contrastive measure of how well the domain of
 * a sample can be inferred from its features. With s_ij = z_i·z_j/T, a softmax p_ij over the other samples j (CondCAD:
 * of i's class), and c = T/0.07,
 *
 *     flipped:      R_i = −c·log Σ_j p_ij over j of other domains           (CondCAD: and of i's class)
 *     not flipped:  R_i = +c·log Σ_j p_ij over j of i's domain              (CondCAD: and of i's class)
 *
 * R is the mean over the samples for which the sum has a term. As in DomainBed, CAD also skips samples that are the
 * only ones of their class, although it does not use classes otherwise, and the diagonal of s is 0.
 *
 * - `selfTerm`: in the form that is not flipped, DomainBed's CAD includes the sample itself among those of its domain,
 *   with   the similarity 0 from the diagonal. `selfTerm=false` excludes it.
 * - `project`: a projection of the features before they are compared. In DomainBed it fails with an undefined name.
 *   Here it   is the intended one: width → width → 128.
 */

import { eye } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { choice, hparam, variant } from "../hparams.js";
import { crossEntropy, Linear, ReLU, Sequential, toFullPrecision } from "../nn/index.js";
import type { BuildContext, HparamsOf, LossAlgorithm } from "./algorithm.js";
import { domainLabels } from "./domain-labels.js";

const BASE_TEMPERATURE = 0.07;
const PROJECTED = 128;

export const bottleneckHparams = {
  lambda: hparam(0.1, choice([1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100]), { reference: "lmbda" }),
  temperature: hparam(0.1, choice([0.05, 0.1]), { reference: "temperature" }),
  normalize: variant([false, true], { reference: "is_normalized" }),
  project: variant([false, true], { reference: "is_project" }),
  flip: variant([true, false], { reference: "is_flipped" }),
  selfTerm: variant([true, false]),
};

/** Builds CAD, or CondCAD if `conditional` is true. */
export function buildBottleneck(
  { backbone, classifier, hparams }: BuildContext<HparamsOf<typeof bottleneckHparams>>,
  { conditional }: { conditional: boolean },
): LossAlgorithm {
  const { lambda, project } = hparams;
  const { width } = backbone;
  const projector = project ? new Sequential(new Linear(width, width), new ReLU(), new Linear(width, PROJECTED)) : null;
  return {
    modules: { backbone, classifier, ...(projector && { projector }) },
    step(batch) {
      const features = backbone.forward(batch.x);
      const logits = classifier.forward(features);
      const compared = toFullPrecision(projector ? projector.forward(features) : features);
      const bottleneck = domainBottleneck(compared, batch.y, domainLabels(batch), { ...hparams, conditional });
      const error = crossEntropy(logits, batch.y);
      return {
        loss: error.add(bottleneck, { alpha: lambda }),
        features,
        logits,
        logs: { clf_loss: error, bn_loss: bottleneck },
      };
    },
    predict: (x) => classifier.forward(backbone.forward(x)),
  };
}

export interface BottleneckOptions {
  readonly temperature: number;
  readonly normalize: boolean;
  readonly flip: boolean;
  readonly selfTerm: boolean;
  readonly conditional: boolean;
}

/** Returns R for samples z [n, width] with classes y [n] and domains d [n]. */
export function domainBottleneck(
  z: Tensor,
  y: Tensor,
  d: Tensor,
  { temperature, normalize, flip, selfTerm, conditional }: BottleneckOptions,
): Tensor {
  const unit = normalize ? z.div(z.norm(1, { keepdim: true }).clamp(1e-12)) : z;
  const equalPairs = (labels: Tensor): Tensor => labels.unsqueeze(1).eq(labels.unsqueeze(0)); // [n, n]
  const others = eye(z.rows, { dtype: "bool", device: z.device }).logicalNot();
  const similarity = unit.mm(unit.t()).div(temperature).mul(others.toDType(z.dtype)); // the diagonal is 0
  const classmates = equalPairs(y).logicalAnd(others);
  const sameDomain = equalPairs(d);
  const contrasted = conditional ? classmates : others;
  const side = flip ? sameDomain.logicalNot() : sameDomain;
  const counted = conditional || !selfTerm ? side.logicalAnd(contrasted) : side;
  // DomainBed first skips rows by class, and then rows whose sum is empty.
  const kept = hasAny(conditional ? counted : classmates).logicalAnd(hasAny(counted)); // [n]
  const inside = logSumExp(similarity, counted).sub(logSumExp(similarity, contrasted));
  const scale = (temperature / BASE_TEMPERATURE) * (flip ? -1 : 1);
  const rows = kept.toDType(z.dtype);
  return inside.mul(rows).sum().div(rows.sum().clamp(1)).mul(scale);
}

/** Returns log Σ exp over the selected entries of each row, [n]. Rows without an entry give 0 and no gradient. */
function logSumExp(x: Tensor, counted: Tensor): Tensor {
  const empty = hasAny(counted).logicalNot(); // [n]
  const finite = x.where(counted.logicalOr(empty.unsqueeze(1)), Number.NEGATIVE_INFINITY);
  return finite.logsumexp(1).where(empty.logicalNot(), 0);
}

/** Returns for each row whether it has a selected entry, [n]. */
const hasAny = (mask: Tensor): Tensor => mask.sum(1).gt(0);
