/** Loss functions, computed in at least float32. */

import type { Tensor } from "../engine/tensor.js";
import { UsageError } from "../errors.js";
import { toFullPrecision } from "./precision.js";

/** How the losses of the samples are reduced: to their mean, to their sum, or not at all. */
export type Reduction = "none" | "mean" | "sum";

const REDUCTIONS = { none: 0, mean: 1, sum: 2 } as const; // the codes in ATen

/**
 * Softmax cross-entropy of logits [n, classes] with class indices [n] (of any integer type) or probabilities [n,
 * classes].
 */
export function crossEntropy(
  logits: Tensor,
  y: Tensor,
  { reduction = "mean" }: { reduction?: Reduction } = {},
): Tensor {
  const target = y.dtype.includes("int") ? y.toDType("int64") : y;
  return toFullPrecision(logits).crossEntropyLoss(target, null, REDUCTIONS[reduction]);
}

/**
 * Mean binary cross-entropy of logits [n] with targets between 0 and 1. The target is one number for all samples, or a
 * tensor [n].
 */
export function binaryCrossEntropy(logits: Tensor, target: Tensor | number): Tensor {
  const l = toFullPrecision(logits);
  const wanted = typeof target === "number" ? l.detach().zerosLike().add(target) : target;
  return l.binaryCrossEntropyWithLogits(wanted);
}

/** Squared differences of two tensors of the same shape. With `mean`, the mean is over all elements. */
export function mse(a: Tensor, b: Tensor, { reduction = "mean" }: { reduction?: Reduction } = {}): Tensor {
  if (`${a.shape}` !== `${b.shape}`) {
    throw new UsageError(`mse: expected two tensors of one shape, got ${a.describe()} and ${b.describe()}`);
  }
  return toFullPrecision(a).mseLoss(toFullPrecision(b), REDUCTIONS[reduction]);
}
