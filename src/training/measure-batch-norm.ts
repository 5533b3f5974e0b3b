/**
 * Computes batch norm statistics for averaged weights, which were never used with a batch. The statistics are reset and
 * then averaged over some training batches (Izmailov et al., UAI 2018, Section 3.2). Frozen layers keep theirs.
 */

import type { Loader } from "../data/loader.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { BatchNorm } from "../nn/index.js";
import type { Learner } from "./learner.js";

/** Computes the statistics of all layers that are not frozen, from the batches of the steps starting at `step`. */
export async function measureBatchNorm(
  learner: Learner,
  loader: Loader,
  { step, seed, batches }: { step: number; seed: number; batches: number },
): Promise<void> {
  const norms = [...learner.root.modules()].flatMap(([, layer]) =>
    layer instanceof BatchNorm && !layer.frozen ? [{ layer, momentum: layer.momentum }] : [],
  );
  if (norms.length === 0) return;
  noGrad(() => {
    for (const { layer } of norms) layer.resetStatistics();
  });
  for (const { layer } of norms) layer.momentum = null;
  try {
    for (let i = 0; i < batches; i++) {
      using batch = await loader.batch(step + i);
      scope(() => learner.predictInTraining(batch.x, new Random(seed, ["batch norm", step + i])));
    }
  } finally {
    for (const { layer, momentum } of norms) layer.momentum = momentum;
  }
}
