/**
 * The Gram matrix along the shorter side of a matrix, in float64: F·Fᵀ if F is wide and Fᵀ·F if it is tall. Its
 * eigenvalues are the squares of F's singular values, so it resolves singular values down to about 1e-8 of the largest.
 */

import type { Tensor } from "../engine/tensor.js";

/** Returns the inner products of F's rows (or of its columns, if it has fewer columns) in float64. */
export function gramMatrix(matrix: Tensor): Tensor {
  const [n, d] = matrix.shape;
  const wide = n <= d ? matrix : matrix.t();
  if (matrix.dtype === "float64" || matrix.device !== "cpu") {
    const x = wide.to({ dtype: "float64" });
    return x.mm(x.t());
  }
  // The product is computed in pieces. Each float64 copy then fits in the cache and is too small for libtorch to start
  // its other threads, which would cost milliseconds on a busy machine.
  const [short, long] = wide.shape;
  const piece = Math.max(1, Math.floor(LARGEST_PIECE / short));
  let gram: Tensor | undefined;
  for (let start = 0; start < long; start += piece) {
    const x = wide.slice(1, start, Math.min(long, start + piece)).to({ dtype: "float64" });
    gram = gram ? gram.addmm_(x, x.t()) : x.mm(x.t());
  }
  return gram!;
}

/**
 * libtorch splits element-wise work above 32,768 elements. With this limit below it, pieces of a matrix with a power of
 * two of rows have even sizes.
 */
const LARGEST_PIECE = 24_576;
