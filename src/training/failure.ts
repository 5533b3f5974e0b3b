/** What is left of a step that failed: the batch, the weights, and words, in `failure/` of the run's folder. */

import { mkdirSync } from "node:fs";
import type { Batch } from "../data/loader.js";
import type { Tensor } from "../engine/tensor.js";
import { writeWeights } from "../engine/weights.js";
import { DataError } from "../errors.js";
import type { Learner } from "./learner.js";
import type { RunFolder } from "./run-folder.js";

/** Dumps the step and returns the error to end with. */
export function stepFailed(
  folder: RunFolder,
  { step, batch, learner, cause }: { step: number; batch: Batch; learner: Learner; cause: Error },
): DataError {
  const names = batch.names();
  folder.checkOwner();
  mkdirSync(folder.file("failure"), { recursive: true });
  const tensors = new Map<string, Tensor>([
    ["x", batch.x],
    ["y", batch.y],
  ]);
  writeWeights(folder.file("failure", "batch.safetensors"), tensors);
  writeWeights(folder.file("failure", "weights.safetensors"), learner.stateDict());
  folder.writeJson("failure/failure.json", { step, message: cause.message, samples: names });
  const shown = names.slice(0, 4).join(", ") + (names.length > 4 ? ` and ${names.length - 4} more` : "");
  return new DataError(
    `training stopped at step ${step}: ${cause.message}. The batch was ${shown}; it is in ${folder.file("failure")} with ` +
      "the weights and the names of all its samples",
    { cause },
  );
}
