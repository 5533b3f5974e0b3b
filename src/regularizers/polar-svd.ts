/** The polar factor by the singular value decomposition: the reference of the other routes, and the slowest. */

import { linalgSvd } from "../engine/ops.generated.js";
import { type Tensor, tensor } from "../engine/tensor.js";

/**
 * P = U·Vᵀ over the singular values above `cutoff`·σ₁, and the sum of all of them. In float64 whatever the matrix is in: at
 * condition 1e4 a float32 decomposition is off by more than 1e-4. The matrix must be finite.
 */
export function svdPolar(matrix: Tensor, cutoff: number): { polar: Tensor; value: number } {
  const [u, sigma, vt] = linalgSvd(matrix.to({ dtype: "float64" }), false);
  const values = sigma.toNumbers(); // descending
  const kept = Float64Array.from(values, (value) => (value > cutoff * values[0] ? 1 : 0));
  const polar = u
    .mul(tensor(kept, { device: matrix.device }))
    .mm(vt)
    .to({ dtype: matrix.dtype });
  return { polar, value: values.reduce((sum, value) => sum + value, 0) };
}
