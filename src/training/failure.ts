/** Saves information about a failed step: the batch, the weights and a message, in `failure/` of the run folder. */

import type { LoadedBatch } from "../data/loader.js";
import type { Tensor } from "../engine/tensor.js";
import { writeWeights } from "../engine/weights.js";
import { DataError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import type { Learner } from "./learner.js";
import type { RunFolder } from "./run-folder.js";

/** A failed step: its batch, and the error. */
export interface FailedStep {
  readonly step: number;
  readonly batch: LoadedBatch;
  readonly learner: Learner;
  readonly cause: Error;
}

/** Saves the step and returns the error to throw. */
export function stepFailed(folder: RunFolder, failed: FailedStep): DataError {
  const { step, batch, cause } = failed;
  const names = batch.names();
  folder.checkOwner();
  const shown = names.slice(0, 4).join(", ") + (names.length > 4 ? ` and ${names.length - 4} more` : "");
  return new DataError(
    `training stopped at step ${step}: ${cause.message}. The batch was ${shown}; ${dump(folder, failed, names)}`,
    { cause },
  );
}

/** Writes the files and returns a message with their location. A full disk must not hide the original error. */
function dump(folder: RunFolder, { step, batch, learner, cause }: FailedStep, names: readonly string[]): string {
  const tensors = new Map<string, Tensor>([
    ["x", batch.x],
    ["y", batch.y],
  ]);
  try {
    makeFolder(folder.file("failure"));
    writeWeights(folder.file("failure", "batch.safetensors"), tensors);
    writeWeights(folder.file("failure", "weights.safetensors"), learner.stateDict());
    folder.writeJson("failure/failure.json", { step, message: cause.message, samples: names });
  } catch (error) {
    return `it could not be saved: ${(error as Error).message}`;
  }
  return `it was saved to ${folder.file("failure")} with the weights and the names of all its samples`;
}
