/**
 * The polar factor by the Gram matrix G of the short side and a symmetric eigensolver, in float64:
 * G = V·diag(σ²)·Vᵀ, P = V·diag(1/σ)·Vᵀ·F = G^(-1/2)·F.
 *
 * Squaring halves the digits: σ is known to about 1e-16·σ₁²/σ. Down to 4e-6·σ₁ that is closer than a float32 SVD comes.
 */

import { type Tensor, tensor } from "../engine/tensor.js";
import { gramMatrix } from "./gram-matrix.js";

/**
 * Up to this times σ₁ (4e-6), P takes zero: below it, 1/σ from a float64 Gram matrix is off by more than 1e-4. (The solver's
 * rounding errors reach 20·eps·σ₁²; this is 65,536·eps·σ₁².)
 */
const GRAM_RESOLUTION = 256 * Math.sqrt(Number.EPSILON);

/** Above this ratio of σ₁ to the smallest σ kept, G^(-1/2)·F in float32 would miss 1e-4. */
const FLOAT32_CONDITION = 1e3;

/**
 * P over the singular values above `cutoff`·σ₁, and the sum of all singular values. Undefined where G is zero, not finite,
 * or beyond float64's range: then the SVD decides.
 */
export function gramPolar(matrix: Tensor, cutoff: number): { polar: Tensor; value: number } | undefined {
  const gram = gramMatrix(matrix);
  const trace = gram.diagonal().sum().item(); // NaN or Inf when any element of the matrix is
  if (!(trace > 1e-290 && trace < 1e290)) return undefined;
  const [eigenvalues, vectors] = gram.linalgEigh();
  const squares = eigenvalues.data() as Float64Array; // ascending
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
  const inRange = largest > 1e-15 && largest < 1e15; // where 1/σ and its products fit float32
  const exact = matrix.device !== "cpu" || largest > FLOAT32_CONDITION * smallest || !inRange;
  return { polar: applyRoot(root, matrix, exact), value };
}

/** G^(-1/2)·F, or F·G^(-1/2) where F is tall, in F's dtype; `exact` multiplies in float64. */
export function applyRoot(root: Tensor, matrix: Tensor, exact: boolean): Tensor {
  const [n, d] = matrix.shape;
  const dtype = exact ? "float64" : matrix.dtype;
  const [a, b] = [root.to({ dtype }), matrix.to({ dtype })];
  return (n <= d ? a.mm(b) : b.mm(a)).to({ dtype: matrix.dtype });
}
