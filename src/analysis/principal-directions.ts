/** The directions in which rows of numbers differ most, by the Gram matrix of the short side in float64. */

import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { gramMatrix } from "../regularizers/gram-matrix.js";

/** Squares of singular values below this share of the largest are what rounding leaves of nothing. */
const NEGLIGIBLE = 1e-10;

export interface PrincipalDirections {
  readonly directions: Tensor; // [k, width], orthonormal rows, float64
  /** The sum of squares along each, largest first. */
  readonly squares: readonly number[];
}

/**
 * The leading directions of rows that are centred already, at most `most`, largest first. A direction's sign is chosen so that
 * its largest number is positive: the same rows give the same picture everywhere.
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
      // Where the Gram matrix is of the rows, its eigenvectors are turned into directions: v = Xᵀu/σ.
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

/** Rows as points in the plane of the two leading directions, and the share of the variance that each of them has. */
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
