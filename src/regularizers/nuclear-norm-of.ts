/** The nuclear norm as a differentiable scalar. */

import type { Tensor } from "../engine/tensor.js";
import { toFullPrecision } from "../nn/precision.js";
import { withOneBlasThread } from "./one-blas-thread.js";
import { type PolarOptions, polarFactor } from "./polar.js";
import type { StepResult } from "./regularizer.js";

/**
 * Returns ‖F‖_* of a matrix. Its gradient is F's polar factor, which is a constant in the autograd graph, so second
 * derivatives are zero.
 */
export function nuclearNormOf(
  matrix: Tensor,
  options: PolarOptions & { watch?: (residual: Tensor) => void } = {},
): Tensor {
  const { polar, value, residual } = polarFactor(matrix, options);
  if (residual && options.deferred) options.watch?.(residual);
  const inner = withOneBlasThread(matrix, () => polar.flatten().dot(toFullPrecision(matrix).flatten())); // its gradient is P
  // ⟨P, F⟩ lacks the singular values that are too small for P. `value` includes them, and adding the difference adds no
  // gradient.
  return inner.add(value.sub(inner.detach()).to({ dtype: inner.dtype }));
}

/** Builds the options for computing the polar factor at a training step. */
export function polarOptionsAt(
  { step, notice, watch }: StepResult,
  route: PolarOptions["route"],
  tensorName: string,
): PolarOptions & { watch?: (residual: Tensor) => void } {
  return { route, notice, watch, deferred: watch !== undefined, what: `the ${tensorName} at step ${step}` };
}
