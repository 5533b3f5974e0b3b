/**
 * Computes the polar factor with the singular value decomposition. It is the slowest route and the reference for the
 * others.
 */

import { linalgSvd } from "../engine/ops.generated.js";
import { type Tensor, tensor } from "../engine/tensor.js";

/**
 * Returns P = U·Vᵀ over the singular values above `cutoff`·σ₁, and the sum of all singular values. The decomposition
 * always runs in float64, because at a condition number of 1e4 the error in float32 is above 1e-4. The matrix must be
 * finite.
 */
export function svdPolar(matrix: Tensor, cutoff: number): { polar: Tensor; value: number } {
  const [u, sigma, vt] = linalgSvd(matrix.to({ dtype: "float64" }), false);
  const values = sigma.toNumbers(); // in descending order
  const kept = Float64Array.from(values, (value) => (value > cutoff * values[0] ? 1 : 0));
  const polar = u
    .mul(tensor(kept, { device: matrix.device }))
    .mm(vt)
    .to({ dtype: matrix.dtype });
  return { polar, value: values.reduce((sum, value) => sum + value, 0) };
}
