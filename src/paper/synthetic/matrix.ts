/**
 * Small dense matrices in float64 with the operations that the toy task needs, including a singular value decomposition
 * by Jacobi rotations.
 */

export interface Matrix {
  rows: number;
  columns: number;
  /** The elements in row-major order. */
  data: Float64Array;
}

export function matrix(rows: number, columns: number, data?: ArrayLike<number>): Matrix {
  return { rows, columns, data: data ? Float64Array.from(data) : new Float64Array(rows * columns) };
}

export function identity(n: number): Matrix {
  const result = matrix(n, n);
  for (let i = 0; i < n; i++) result.data[i * n + i] = 1;
  return result;
}

export function multiply(a: Matrix, b: Matrix): Matrix {
  const result = matrix(a.rows, b.columns);
  for (let i = 0; i < a.rows; i++)
    for (let k = 0; k < a.columns; k++) {
      const value = a.data[i * a.columns + k];
      for (let j = 0; j < b.columns; j++) result.data[i * b.columns + j] += value * b.data[k * b.columns + j];
    }
  return result;
}

export function transpose(a: Matrix): Matrix {
  const result = matrix(a.columns, a.rows);
  for (let i = 0; i < a.rows; i++)
    for (let j = 0; j < a.columns; j++) result.data[j * a.rows + i] = a.data[i * a.columns + j];
  return result;
}

/** Returns the square root of the sum of squares. */
export function frobeniusNorm(a: Matrix): number {
  let sum = 0;
  for (let i = 0; i < a.data.length; i++) sum += a.data[i] * a.data[i];
  return Math.sqrt(sum);
}

/**
 * M = U·diag(σ)·Vᵀ with σ in descending order. U is rows×k and V is columns×k, where k is the smaller side. Columns of
 * U for σ = 0 are zero.
 */
export interface Decomposition {
  u: Matrix;
  sigma: Float64Array;
  v: Matrix;
}

/**
 * Computes a singular value decomposition by one-sided Jacobi rotations (Hestenes). Pairs of columns are rotated until
 * they are orthogonal, which diagonalizes the Gram matrix without forming it, so that small singular values keep their
 * precision.
 */
export function decompose(m: Matrix): Decomposition {
  if (m.rows < m.columns) {
    const { u, sigma, v } = decompose(transpose(m));
    return { u: v, sigma, v: u };
  }
  const k = m.columns;
  const largest = m.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const columns = transpose(m); // row j is column j of m
  if (largest > 0) for (let i = 0; i < columns.data.length; i++) columns.data[i] /= largest; // prevents overflow of squares
  const turns = identity(k); // row j is column j of V
  for (let sweep = 0, turned = true; turned && sweep < 60; sweep++) {
    turned = false;
    for (let p = 0; p < k - 1; p++)
      for (let q = p + 1; q < k; q++) if (orthogonalise(columns, turns, p, q)) turned = true;
  }
  const norms = Array.from({ length: k }, (_, j) => Math.sqrt(dot(columns, j, j)));
  const order = norms.map((_, j) => j).sort((a, b) => norms[b] - norms[a]);
  const u = matrix(m.rows, k);
  const v = matrix(k, k);
  order.forEach((from, to) => {
    for (let i = 0; i < m.rows; i++)
      u.data[i * k + to] = norms[from] > 0 ? columns.data[from * m.rows + i] / norms[from] : 0;
    for (let i = 0; i < k; i++) v.data[i * k + to] = turns.data[from * k + i];
  });
  return { u, sigma: Float64Array.from(order, (j) => norms[j] * largest), v };
}

function dot(a: Matrix, p: number, q: number): number {
  let sum = 0;
  for (let i = 0; i < a.columns; i++) sum += a.data[p * a.columns + i] * a.data[q * a.columns + i];
  return sum;
}

/**
 * Rotates rows p and q of both matrices so that those of the first are orthogonal. Returns false if they already were.
 */
function orthogonalise(a: Matrix, turns: Matrix, p: number, q: number): boolean {
  const [alpha, beta, gamma] = [dot(a, p, p), dot(a, q, q), dot(a, p, q)];
  if (Math.abs(gamma) <= Number.EPSILON * Math.sqrt(alpha * beta) || gamma === 0) return false;
  const zeta = (beta - alpha) / (2 * gamma);
  const t = (zeta >= 0 ? 1 : -1) / (Math.abs(zeta) + Math.hypot(1, zeta));
  const cos = 1 / Math.sqrt(1 + t * t);
  const sin = cos * t;
  for (const { data, columns } of [a, turns])
    for (let i = 0; i < columns; i++) {
      const [x, y] = [data[p * columns + i], data[q * columns + i]];
      data[p * columns + i] = cos * x - sin * y;
      data[q * columns + i] = sin * x + cos * y;
    }
  return true;
}
