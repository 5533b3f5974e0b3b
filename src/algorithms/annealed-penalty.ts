/**
 * A penalty that sets in late, as IRM's and VREx's do in the reference implementations: its weight is 1 (not 0) for the first
 * `annealSteps` updates, then `penaltyWeight`; at the update where it changes, Adam is reset, because its moments are of
 * another loss. The loss is not divided by the weight.
 */

import type { Tensor } from "../engine/tensor.js";
import type { StepContext, StepOutcome } from "./algorithm.js";

export interface Annealing {
  readonly penaltyWeight: number;
  readonly annealSteps: number;
}

/** The loss of a step, from the mean cross-entropy and the penalty, with both in the log. */
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
