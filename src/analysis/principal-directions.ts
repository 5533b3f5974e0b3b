/** The principal directions of rows, from the Gram matrix of the shorter side in float64. */

import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { gramMatrix } from "../regularizers/gram-matrix.js";

/** Squared singular values below this fraction of the largest are rounding errors. */
const NEGLIGIBLE = 1e-10;

export interface PrincipalDirections {
  readonly directions: Tensor; // [k, width], orthonormal rows, float64
  /** The sum of squares along each, in descending order. */
  readonly squares: readonly number[];
}

/**
 * The leading directions of centered rows, at most `most`, in descending order. The sign of a direction is chosen so
 * that its largest element is positive: equal rows give equal results everywhere.
 */
export function principalDirections(centred: Tensor, most: number): PrincipalDirections {
  return noGrad(() =>
    scope(() => {
      const exact = centred.to({ dtype: "float64", device: "cpu" });
      const [n, width] = exact.shape;
      const [squares, vectors] = gramMatrix(exact).linalgEigh(); // ascending
      const sizes = squares.toNumbers();
      const largest = Math.max(0, sizes.at(-1) ?? 0);
      const descending = sizes.map((_, i) => sizes.length - 1 - i);
      const chosen = descending.filter((i) => sizes[i] > NEGLIGIBLE * largest).slice(0, Math.max(0, most));
      const columns = vectors.indexSelect(1, tensor(chosen, { dtype: "int64" })); // [short side, k]
      // If the Gram matrix is that of the rows, its eigenvectors are converted to directions: v = Xᵀu/σ.
      const lengths = tensor(
        chosen.map((i) => Math.sqrt(sizes[i])),
        { dtype: "float64" },
      ).unsqueeze(1);
      const unsigned = n <= width ? columns.t().mm(exact).div(lengths) : columns.t();
      return { directions: signed(unsigned), squares: chosen.map((i) => sizes[i]) };
    }),
  );
}

function signed(directions: Tensor): Tensor {
  if (directions.rows === 0) return directions.contiguous();
  const at = directions.abs().argmax(1, true); // [k, 1]
  return directions.mul(directions.gather(1, at).sign()).contiguous();
}

/** Projects rows on the two leading directions, and returns the fraction of the variance along each. */
export function projectToPlane(features: Tensor): { points: { x: number; y: number }[]; shares: [number, number] } {
  return noGrad(() =>
    scope(() => {
      const exact = features.to({ dtype: "float64", device: "cpu" });
      const centred = exact.sub(exact.mean(0, true));
      const total = centred.square().sum().item();
      const { directions, squares } = principalDirections(centred, 2);
      const places = directions.rows === 0 ? [] : (centred.mm(directions.t()).toArray() as number[][]);
      const points = Array.from({ length: exact.rows }, (_, i) => ({ x: places[i]?.[0] ?? 0, y: places[i]?.[1] ?? 0 }));
      const share = (i: number): number => (total > 0 ? (squares[i] ?? 0) / total : 0);
      return { points, shares: [share(0), share(1)] };
    }),
  );
}
