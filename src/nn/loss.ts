/** Losses, computed in float32 at least. */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { toFullPrecision } from "./precision.js";

/** What becomes of the samples' losses: their mean, their sum, or a tensor of them all. */
export type Reduction = "none" | "mean" | "sum";

const REDUCTIONS = { none: 0, mean: 1, sum: 2 } as const; // ATen's codes

/** Softmax cross-entropy of logits [n, classes] with class numbers [n] (any integer type) or probabilities [n, classes]. */
export function crossEntropy(
  logits: Tensor,
  y: Tensor,
  { reduction = "mean" }: { reduction?: Reduction } = {},
): Tensor {
  const target = y.dtype.includes("int") ? y.toDType("int64") : y;
  return toFullPrecision(logits).crossEntropyLoss(target, null, REDUCTIONS[reduction]);
}

/** The mean cross-entropy of the sigmoid of logits [n] with targets from 0 to 1: one number for all, or [n]. */
export function binaryCrossEntropy(logits: Tensor, target: Tensor | number): Tensor {
  const l = toFullPrecision(logits);
  const wanted = typeof target === "number" ? l.detach().zerosLike().add(target) : target;
  return l.binaryCrossEntropyWithLogits(wanted);
}

/** The squared differences of two tensors of one shape; `mean` is over all elements. */
export function mse(a: Tensor, b: Tensor, { reduction = "mean" }: { reduction?: Reduction } = {}): Tensor {
  if (`${a.shape}` !== `${b.shape}`) {
    throw new UsageError(`mse: expected two tensors of one shape, got ${a.describe()} and ${b.describe()}`);
  }
  return toFullPrecision(a).mseLoss(toFullPrecision(b), REDUCTIONS[reduction]);
}
