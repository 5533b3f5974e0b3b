/**
 * A penalty that starts after some updates, as for IRM and VREx in the reference implementations. Its weight is 1 (not
 * 0) for the first `annealSteps` updates, and `penaltyWeight` afterwards. When the weight changes, Adam is reset,
 * because its moments belong to a different loss. The loss is not divided by the weight.
 */

import type { Tensor } from "../engine/tensor.js";
import type { StepContext, StepOutcome } from "./algorithm.js";

export interface Annealing {
  readonly penaltyWeight: number;
  readonly annealSteps: number;
}

/** Returns the loss of a step, computed from the mean cross-entropy and the penalty, and logs both. */
export function annealed(
  { nll, penalty }: { nll: Tensor; penalty: Tensor },
  { penaltyWeight, annealSteps }: Annealing,
  { schedule }: StepContext,
): Pick<StepOutcome, "loss" | "logs" | "resetOptimizer"> {
  const weight = schedule((step) => (step >= annealSteps ? penaltyWeight : 1));
  return {
    loss: nll.add(penalty, { alpha: weight }),
    logs: { nll, penalty },
    resetOptimizer: schedule((step) => step === annealSteps),
  };
}
