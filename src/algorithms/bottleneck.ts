/**
 * The information bottleneck of IB-ERM and IB-IRM: the variance of the features within a domain, over samples (divided by
 * n − 1), as a mean over the features. It stands in for their entropy; the paper speaks of the total variance.
 */

import { stack } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { hparam, powerOfTen, powerOfTenInteger } from "../hparams.js";
import { toFullPrecision } from "../nn/index.js";
import type { Batch } from "./algorithm.js";
import { rowsByDomain } from "./domain-parts.js";

/** Its hyperparameters, by the reference's names. */
export const bottleneckHparams = {
  bottleneckWeight: hparam(100, powerOfTen(-1, 5), { reference: "ib_lambda" }),
  bottleneckSteps: hparam(500, powerOfTenInteger(0, 4), { reference: "ib_penalty_anneal_iters" }),
};

/** The mean over domains of the variance of their features. */
export function featureVariance(features: Tensor, batch: Batch): Tensor {
  const few = batch.domains.find(({ y }) => y.rows < 2);
  if (few)
    throw new UsageError(
      `the information bottleneck takes the variance of each domain's features: expected at least 2 samples a domain, got ${few.y.rows}. Raise the batch size`,
    );
  return stack(rowsByDomain(toFullPrecision(features), batch).map((own) => own.variance(0).mean())).mean();
}
