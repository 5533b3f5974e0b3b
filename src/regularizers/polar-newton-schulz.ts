/**
 * Computes the polar factor with a fixed number of matrix products and without reading from the device. A CUDA graph
 * can therefore capture it, unlike an eigensolver.
 *
 * Newton–Schulz applies odd polynomials to every singular value σ, scaled into [0, 1], until all values are close to 1.
 * Each polynomial here has degree seven and is the closest to 1 on the interval that contains the values at that step,
 * following Amsel et al., "The Polar Express: Optimal Matrix Sign Methods and Their Application to the Muon Algorithm",
 * 2025, https://arxiv.org/abs/2505.16932. It multiplies small values by 5.5, where the fixed (15σ − 10σ³ + 3σ⁵)/8
 * multiplies them by 1.9, so eight steps replace twenty.
 *
 * The steps run on the Gram matrix of the shorter side in float64 (G ← Q·G·Q, M ← M·Q), and P = M·F at the end. The
 * products are then 96 × 96 instead of 96 × 2048, and float64 represents the squares of small singular values. On a
 * GPU, the time of such a small product does not depend on its number of rows, so this file minimizes the number of
 * products and of other kernels.
 *
 * Up to rounding, the singular values of P are at most 1 and ⟨P, F⟩ is at most ‖F‖_*. Singular values below 1e-5 of
 * ‖G‖^½ do not reach 1; they grow without exceeding it.
 */

import { cat, eye } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { gramMatrix } from "./gram-matrix.js";

/** The polynomial a·σ·(1 + u·σ²)·(1 + v·σ² + w·σ⁴). The factored form loses fewer digits than powers of σ. */
export type OddPolynomial = readonly [a: number, u: number, v: number, w: number];

/**
 * The polynomial closest to a constant on [0.05, 1], divided by its maximum there, so that 1 is the largest value
 * before and after. With an interval from 0.02 it would multiply small values by 5.8 instead of 5.5, but map σ₁ = 1 to
 * 0.1 instead of 0.27 and lose digits of it.
 */
const LIFT: OddPolynomial = [5.5262704203, -0.97433021842, -4.243700526, 5.1662197583];

/** Maps [0.2727, 1] to 1 ± 0.067. Six steps of LIFT bring all values above 1e-5 into that interval. */
const GATHER: OddPolynomial = [4.2700137925, -0.82523012067, -2.1447013651, 2.3951586145];

/** Maps 1 ± 0.067 to 1 ± 1.1e-5. The last step, which uses the original G, reduces the error to 1e-14. */
const CLOSE: OddPolynomial = [2.1928913617, -0.39492704648, -0.60775526501, 0.36140649976];

/** The polynomials in the order of the steps. `polar-newton-schulz.test.ts` recomputes them. */
export const SCHEDULE: readonly OddPolynomial[] = [LIFT, LIFT, LIFT, LIFT, LIFT, LIFT, GATHER, CLOSE];

/** The factor by which all steps together multiply a value near zero: 2.7e5. */
const GAIN = SCHEDULE.reduce((gain, [a]) => gain * a, 1);

/** If the residual is larger than this, the eigensolver is used instead. */
export const RESIDUAL_LIMIT = 1e-2;

export interface NewtonSchulzPolar {
  polar: Tensor;
  value: Tensor;
  /**
   * ‖A² − A‖ of A = P·Pᵀ before the last step, which is zero if P is a partial isometry. It equals ‖P·Pᵀ − I‖ without
   * the null space: a converged direction contributes 1 − p², a null direction nothing. The last step cubes 1 − p.
   */
  residual: Tensor;
}

/** Returns P after all steps of the schedule and a final correction step. */
export function newtonSchulzPolar(matrix: Tensor): NewtonSchulzPolar {
  const exact = matrix.to({ dtype: "float64" });
  const gram = gramMatrix(exact);
  const identity = eye(gram.rows, { dtype: "float64", device: matrix.device });
  const scale = gram.norm().clamp(1e-290); // ‖G‖_F is at least σ₁², and closer to it than F's own norm; clamped so that it is never zero
  const scaled = gram.div(scale);
  const m = iterate(scaled, identity);

  // A = P·Pᵀ, computed from the original G, shows the accumulated error, and the step (15 − 10A + 3A²)/8·P corrects it.
  // The correction multiplies M from the left, like a step of P. From the right, it would multiply rounding errors that
  // do not commute with G by F's condition number.
  const projector = m.addmm(m.mm(scaled), m.t(), { beta: 0, alpha: GAIN ** 2 });
  const defect = projector.mm(projector).sub_(projector); // A² − A
  const q = identity.add(projector, { alpha: -7 / 15 }).add_(defect, { alpha: 3 / 15 });
  const root = m.addmm(q, m, { beta: 0, alpha: (GAIN * 15) / 8 }).mul_(scale.rsqrt());
  const polar = matrix.rows <= matrix.shape[1] ? root.mm(exact) : exact.mm(root.t());
  return {
    polar: polar.to({ dtype: matrix.dtype }),
    value: root.mul(gram).sum(), // ⟨M·F, F⟩
    residual: defect.norm(),
  };
}

/**
 * Returns M after the schedule, without the factors a, whose product is GAIN. Applying them would cost one kernel per
 * step.
 *
 * A step consists of three products: K·G, K·Q with Q = (1 + u·G)·(1 + v·G + w·G²), and a²·(G·Q)·Q, where K is I, G and
 * M stacked vertically. To keep each K contiguous without copies, the steps write alternately into two buffers of five
 * blocks. One buffer mirrors the other: I, G, M, G·Q, Q and Q, G·Q, M, G, I. (With `beta: 0` the target of a product is
 * not read.)
 */
function iterate(gram: Tensor, identity: Tensor): Tensor {
  const side = gram.rows;
  const blocks = (sheet: Tensor, first: number, count = 1): Tensor => sheet.narrow(0, first * side, count * side);
  let from = cat([identity, gram, identity, identity, identity]);
  let to = from.clone();
  let [atK, atG, atQ] = [0, 1, 0];
  for (const polynomial of SCHEDULE) {
    const [a, u, v, w] = polynomial;
    const [k, g] = [blocks(from, atK, 3), blocks(from, atG)];
    const kg = k.mm(g); // the middle block is G²
    const quadratic = identity.add(g, { alpha: v }).add_(blocks(kg, 1), { alpha: w });
    blocks(to, atK, 3).addmm_(k.add(kg, { alpha: u }), quadratic, { beta: 0 });
    if (polynomial === CLOSE) break; // the rest would compute the next G
    blocks(to, 4 - atG).addmm_(blocks(to, atG), blocks(to, atQ), { beta: 0, alpha: a * a });
    [from, to] = [to, from];
    [atK, atG, atQ] = [2 - atK, 4 - atG, 4 - atQ];
  }
  return blocks(to, 2);
}
