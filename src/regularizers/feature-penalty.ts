/** Settings and helpers that all penalties on the features of a minibatch share. */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { option, whole, word } from "../options.js";
import type { StepResult } from "./regularizer.js";

/**
 * Settings of a penalty on features.
 *
 * - `scaling`: `per-sample` divides the penalty by the number of rows, as the official code does, which produced the
 *   paper's   tables. `sum` does not divide, as in the paper's formula. The two differ by a factor of about 100.
 * - `warmup`: the number of steps before the penalty is added. The official code tests `step > 100`, which skips the
 *   101   steps 0 to 100.
 * - `on`: the penultimate features as the algorithm returned them (after pooling and dropout, not centred, not
 *   normalised,   all rows of the loss), or the logits.
 */
export const featurePenaltySettings = {
  scaling: option(word("per-sample", "sum"), "divide by the rows of the batch, or not", { default: "per-sample" }),
  warmup: option(whole(0), "steps before the penalty joins; 0: from the first", { default: 101, chosen: 4 }),
  on: option(word("features", "logits"), "the tensor that is penalised", { default: "features" }),
};

/** Returns the tensor that the penalty applies to, [rows, width]. */
export function penalised(id: string, { features, logits }: StepResult, on: "features" | "logits"): Tensor {
  if (on === "features") return features;
  if (logits) return logits;
  throw new UsageError(`${id} on=logits: this algorithm returned no logits with its loss. Try: on=features`);
}

/** Divides a norm by the number of rows if `scaling` is `per-sample`. */
export function scaled(norm: Tensor, matrix: Tensor, scaling: "per-sample" | "sum"): Tensor {
  return scaling === "per-sample" ? norm.div(matrix.rows) : norm;
}
