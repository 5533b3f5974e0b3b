/**
 * Computes the polar factor from the Gram matrix G of the shorter side and a symmetric eigensolver, in float64: G =
 * V·diag(σ²)·Vᵀ, P = V·diag(1/σ)·Vᵀ·F = G^(-1/2)·F.
 *
 * Squaring halves the number of correct digits: the error of σ is about 1e-16·σ₁²/σ. Down to 4e-6·σ₁ this is more
 * accurate than a float32 SVD.
 */

import { type Tensor, tensor } from "../engine/tensor.js";
import { gramMatrix } from "./gram-matrix.js";

/**
 * P is zero for singular values up to this value times σ₁ (4e-6). Below it, 1/σ from a float64 Gram matrix has a
 * relative error above 1e-4. (The solver's rounding errors reach 20·eps·σ₁²; this limit is 65,536·eps·σ₁².)
 */
const GRAM_RESOLUTION = 256 * Math.sqrt(Number.EPSILON);

/** If the ratio of σ₁ to the smallest σ in use is larger than this, G^(-1/2)·F in float32 has an error above 1e-4. */
const FLOAT32_CONDITION = 1e3;

/**
 * Returns P over the singular values above `cutoff`·σ₁, and the sum of all singular values. Returns undefined if G is
 * zero, not finite, or outside the range of float64; the caller then uses the SVD.
 */
export function gramPolar(matrix: Tensor, cutoff: number): { polar: Tensor; value: number } | undefined {
  const gram = gramMatrix(matrix);
  const trace = gram.diagonal().sum().item(); // NaN or Inf if any element of the matrix is
  if (!(trace > 1e-290 && trace < 1e290)) return undefined;
  const [eigenvalues, vectors] = gram.linalgEigh();
  const squares = eigenvalues.data() as Float64Array; // in ascending order
  const largest = Math.sqrt(squares[squares.length - 1]);
  const least = Math.max(cutoff, GRAM_RESOLUTION) * largest;
  let value = 0;
  let smallest = largest;
  const inverse = squares.map((square) => {
    const sigma = Math.sqrt(Math.max(0, square));
    value += sigma;
    if (sigma <= least) return 0;
    smallest = Math.min(smallest, sigma);
    return 1 / sigma;
  });
  const root = vectors.mul(tensor(inverse, { device: matrix.device })).mm(vectors.t()); // G^(-1/2)
  const inRange = largest > 1e-15 && largest < 1e15; // 1/σ and its products fit in float32
  const exact = matrix.device !== "cpu" || largest > FLOAT32_CONDITION * smallest || !inRange;
  return { polar: applyRoot(root, matrix, exact), value };
}

/**
 * Returns G^(-1/2)·F, or F·G^(-1/2) if F is tall, in F's dtype. If `exact` is true, the product is computed in float64.
 */
export function applyRoot(root: Tensor, matrix: Tensor, exact: boolean): Tensor {
  const [n, d] = matrix.shape;
  const dtype = exact ? "float64" : matrix.dtype;
  const [a, b] = [root.to({ dtype }), matrix.to({ dtype })];
  return (n <= d ? a.mm(b) : b.mm(a)).to({ dtype: matrix.dtype });
}
