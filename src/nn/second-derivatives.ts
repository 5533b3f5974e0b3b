/**
 * Networks whose gradients are differentiated again, as IGA does. Some operators have no second derivative (fused attention) or
 * a slow one: ATen's convolution loops over its groups. Inside `withSecondDerivatives`, layers use others with the same numbers.
 */

import { refuseAsync } from "../engine/scope.js";

let active = false;

/**
 * Runs a forward pass, which must not be async, with operators whose gradients can be differentiated again, and fast. The result
 * is the same up to rounding.
 */
export function withSecondDerivatives<T>(body: () => T): T {
  const before = active;
  active = true;
  try {
    return refuseAsync("withSecondDerivatives", body());
  } finally {
    active = before;
  }
}

/** Whether a forward pass runs whose gradients are differentiated again. */
export const needsSecondDerivatives = (): boolean => active;
