/** The nuclear norm as a differentiable scalar. */

import type { Tensor } from "../engine/tensor.js";
import { toFullPrecision } from "../nn/precision.js";
import { withOneBlasThread } from "./one-blas-thread.js";
import { type PolarOptions, polarFactor } from "./polar.js";
import type { StepResult } from "./regularizer.js";

/**
 * ‖F‖_* of a matrix, whose gradient is F's polar factor. The factor is a constant to the graph, so a second derivative
 * through this is zero.
 */
export function nuclearNormOf(
  matrix: Tensor,
  options: PolarOptions & { watch?: (residual: Tensor) => void } = {},
): Tensor {
  const { polar, value, residual } = polarFactor(matrix, options);
  if (residual && options.deferred) options.watch?.(residual);
  const inner = withOneBlasThread(matrix, () => polar.flatten().dot(toFullPrecision(matrix).flatten())); // P is its gradient
  // ⟨P, F⟩ leaves out the singular values too small for P. The value has them; adding the difference adds no gradient.
  return inner.add(value.sub(inner.detach()).to({ dtype: inner.dtype }));
}

/** How a penalty asks for a polar factor at a step. */
export function polarOptionsAt(
  { step, notice, watch }: StepResult,
  route: PolarOptions["route"],
  tensorName: string,
): PolarOptions & { watch?: (residual: Tensor) => void } {
  return { route, notice, watch, deferred: watch !== undefined, what: `the ${tensorName} at step ${step}` };
}
