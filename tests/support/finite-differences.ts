/** Gradients by central differences in float64: the check for whatever we differentiate ourselves. */

import { scope } from "../../src/engine/scope.js";
import { type Tensor, tensor } from "../../src/engine/tensor.js";

/** ∂f/∂x, element by element, of a function to one number. Its error is about step²; 1e-5 leaves some 1e-10. */
export function finiteDifferences(f: (x: Tensor) => Tensor, x: Tensor, step = 1e-5): number[] {
  return scope(() => {
    const at = x.toNumbers();
    const value = (i: number, change: number): number => {
      const moved = Float64Array.from(at);
      moved[i] += change;
      return scope(() => f(tensor(moved, { shape: x.shape }))).item();
    };
    return at.map((_, i) => (value(i, step) - value(i, -step)) / (2 * step));
  });
}
