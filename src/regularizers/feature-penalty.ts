/** What the penalties on a batch's features share: which tensor, divided by what, and from which step on. */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { option, whole, word } from "../options.js";
import type { StepResult } from "./regularizer.js";

/**
 * - `scaling`: `per-sample` divides by the rows, as the official code, which made the paper's tables; `sum` does not, as the
 *   paper's formula. They differ by a factor of about 100.
 * - `warmup`: steps before the penalty joins. The official code asks `step > 100`, which leaves out steps 0 to 100: 101 of them.
 * - `on`: the penultimate features as the algorithm returned them (after pooling and dropout, not centred, not
 *   normalised, all rows of the loss), or its logits.
 */
export const featurePenaltySettings = {
  scaling: option(word("per-sample", "sum"), "divide by the rows of the batch, or not", { default: "per-sample" }),
  warmup: option(whole(0), "steps before the penalty joins; 0: from the first", { default: 101 }),
  on: option(word("features", "logits"), "the tensor that is penalised", { default: "features" }),
};

/** The tensor a penalty is on, [rows, width]. */
export function penalised(id: string, { features, logits }: StepResult, on: "features" | "logits"): Tensor {
  if (on === "features") return features;
  if (logits) return logits;
  throw new UsageError(`${id} on=logits: this algorithm returned no logits with its loss. Try: on=features`);
}

/** A norm divided as `scaling` says. */
export function scaled(norm: Tensor, matrix: Tensor, scaling: "per-sample" | "sum"): Tensor {
  return scaling === "per-sample" ? norm.div(matrix.rows) : norm;
}
