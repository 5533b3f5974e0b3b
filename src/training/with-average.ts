/** Runs an action with a follower's average instead of the trained weights. */

import { restoreValues, saveValues } from "../algorithms/saved-values.js";
import type { Follower } from "../averaging/index.js";
import { Scope, scope } from "../engine/scope.js";
import { measureBatchNorm } from "./measure-batch-norm.js";
import type { Running } from "./running.js";

export async function withAverage<T>(
  { plan, learner, loader }: Running,
  follower: Follower,
  action: () => T | Promise<T>,
): Promise<T> {
  const { seed, steps, hparams, batchNormBatches: batches } = plan.settings;
  using kept = new Scope();
  const saved = kept.run(() => saveValues([learner.root]));
  try {
    scope(() => learner.root.loadStateDict(follower.weights(), { ignoreMissing: () => true }));
    // As in SWAD's code, if the backbone is frozen, other batch norms keep the statistics of the trained model.
    if (!hparams.freezeBatchNorm) await measureBatchNorm(learner, loader, { step: steps, seed, batches });
    return await action();
  } finally {
    restoreValues(saved);
  }
}
