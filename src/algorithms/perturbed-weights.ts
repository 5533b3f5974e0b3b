/**
 * The gradient at weights that were moved to where the loss is larger: what SAM and the methods that follow it share.
 * There is one norm over all parameters together, as in SWAD's code, from which the published domain generalization
 * numbers come.
 */

import { _foreachAdd_, _foreachNorm, stack } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { grad, noGrad, type Tensor } from "../engine/tensor.js";

/** A loss at the current weights and its gradients. The graph that computed them is freed. */
export interface LossAndGradients {
  readonly loss: Tensor;
  readonly gradients: readonly Tensor[];
}

/** Computes a loss and its gradients, without changing `.grad`. */
export const gradientsOf = (compute: () => Tensor, parameters: readonly Tensor[]): LossAndGradients =>
  scope(() => {
    const loss = compute();
    return { gradients: grad(loss, parameters), loss: loss.detach() };
  });

/**
 * Returns the moves (ρ/‖g‖₂ − less)·g, where the norm is that of all gradients together. With `less`, a descent step of
 * this size is taken from the climb.
 */
export function climb(gradients: readonly Tensor[], rho: number, less = 0): Tensor[] {
  return noGrad(() =>
    scope(() => {
      // Only a zero gradient is below the floor. The move is then zero instead of 0/0.
      const factor = normOf(gradients).clamp(1e-30).reciprocal().mul(rho);
      if (less !== 0) factor.sub_(less);
      return gradients.map((gradient) => gradient.mul(factor));
    }),
  );
}

/** Returns the Euclidean norm of all tensors together. */
export const normOf = (tensors: readonly Tensor[]): Tensor => stack(_foreachNorm(tensors)).norm();

/** Runs `action` with moved parameters, and moves them back afterwards. */
export function atMovedWeights<T>(parameters: readonly Tensor[], moves: readonly Tensor[], action: () => T): T {
  noGrad(() => _foreachAdd_(parameters, moves));
  try {
    return action();
  } finally {
    noGrad(() => _foreachAdd_(parameters, moves, { alpha: -1 }));
  }
}
