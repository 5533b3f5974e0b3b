/**
 * The information bottleneck of IB-ERM and IB-IRM: the variance of each feature over the samples of a domain (divided
 * by n − 1), averaged over the features. It is a surrogate for the entropy of the features. The paper uses the total
 * variance.
 */

import { stack } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { hparam, powerOfTen, powerOfTenInteger } from "../hparams.js";
import { toFullPrecision } from "../nn/index.js";
import type { Batch } from "./algorithm.js";
import { rowsByDomain } from "./domain-parts.js";

/** The hyperparameters, with DomainBed's names as reference. */
export const bottleneckHparams = {
  bottleneckWeight: hparam(100, powerOfTen(-1, 5), { reference: "ib_lambda" }),
  bottleneckSteps: hparam(500, powerOfTenInteger(0, 4), { reference: "ib_penalty_anneal_iters" }),
};

/** Returns the variance of the features within a domain, averaged over domains. */
export function featureVariance(features: Tensor, batch: Batch): Tensor {
  const few = batch.domains.find(({ y }) => y.rows < 2);
  if (few)
    throw new UsageError(
      `the information bottleneck takes the variance of each domain's features: expected at least 2 samples a domain, got ${few.y.rows}. Raise the batch size`,
    );
  return stack(rowsByDomain(toFullPrecision(features), batch).map((own) => own.variance(0).mean())).mean();
}
