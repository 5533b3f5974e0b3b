/**
 * The Gram matrix of a matrix's short side in float64: F·Fᵀ where F is wide, Fᵀ·F where it is tall. Its eigenvalues are the
 * squares of F's singular values, so it resolves those down to about 1e-8 of the largest.
 */

import type { Tensor } from "../engine/tensor.js";

/** The symmetric matrix of F's inner products along its short side, in float64. */
export function gramMatrix(matrix: Tensor): Tensor {
  const [n, d] = matrix.shape;
  const wide = n <= d ? matrix : matrix.t();
  if (matrix.dtype === "float64" || matrix.device !== "cpu") {
    const x = wide.to({ dtype: "float64" });
    return x.mm(x.t());
  }
  // In pieces: each float64 copy stays in the cache and is too small for libtorch to wake its other threads, which on a
  // machine with other work costs milliseconds.
  const [short, long] = wide.shape;
  const piece = Math.max(1, Math.floor(LARGEST_PIECE / short));
  let gram: Tensor | undefined;
  for (let start = 0; start < long; start += piece) {
    const x = wide.slice(1, start, Math.min(long, start + piece)).to({ dtype: "float64" });
    gram = gram ? gram.addmm_(x, x.t()) : x.mm(x.t());
  }
  return gram!;
}

/** libtorch splits element-wise work above 32,768 elements; a power of two below it keeps the products' sizes even. */
const LARGEST_PIECE = 24_576;
