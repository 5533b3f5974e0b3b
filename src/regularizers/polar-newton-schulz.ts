/**
 * The polar factor by matrix products only, a fixed number of them, nothing read back. So it can be captured in a CUDA graph,
 * where an eigensolver cannot.
 *
 * Newton–Schulz takes every singular value σ, scaled into [0, 1], through odd polynomials that end at 1. Here each polynomial
 * is the one of degree seven that comes closest to 1 on the interval the values are in by then, after Amsel et al., "The Polar
 * Express: Optimal Matrix Sign Methods and Their Application to the Muon Algorithm", 2025, https://arxiv.org/abs/2505.16932:
 * it grows small values by 5.5 where the fixed (15σ − 10σ³ + 3σ⁵)/8 grows them by 1.9, so that eight steps do for twenty.
 *
 * They run on the Gram matrix of the short side in float64 (G ← Q·G·Q, M ← M·Q), and P = M·F at the end: the products are
 * 96 × 96 instead of 96 × 2048, and float64 keeps the squares of small singular values. On a GPU so small a product takes the
 * same time whatever its height, so what is kept small is the count of products and of other kernels.
 *
 * P is never longer than 1, and ⟨P, F⟩ never above ‖F‖_*, but for rounding: below 1e-5 of ‖G‖^½, where the values do not get
 * to 1, they grow without passing it.
 */

import { cat, eye } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { gramMatrix } from "./gram-matrix.js";

/** a·σ·(1 + u·σ²)·(1 + v·σ² + w·σ⁴): the factors lose fewer digits than the powers would. */
export type OddPolynomial = readonly [a: number, u: number, v: number, w: number];

/**
 * Closest to a constant on [0.05, 1], and divided by its maximum there: 1 is the largest value before and after. Towards 0.02
 * it would grow small values by 5.8 instead of 5.5, but take σ₁ = 1 to 0.1 instead of 0.27 and lose digits of it.
 */
const LIFT: OddPolynomial = [5.5262704203, -0.97433021842, -4.243700526, 5.1662197583];

/** Takes [0.2727, 1], where six lifts bring everything from 1e-5 on, to 1 ± 0.067. */
const GATHER: OddPolynomial = [4.2700137925, -0.82523012067, -2.1447013651, 2.3951586145];

/** Takes 1 ± 0.067 to 1 ± 1.1e-5. The last step, on the first G again, takes that to 1 ± 1e-14. */
const CLOSE: OddPolynomial = [2.1928913617, -0.39492704648, -0.60775526501, 0.36140649976];

/** The steps, in order. `polar-newton-schulz.test.ts` computes them anew. */
export const SCHEDULE: readonly OddPolynomial[] = [LIFT, LIFT, LIFT, LIFT, LIFT, LIFT, GATHER, CLOSE];

/** What the steps multiply a value near zero by: 2.7e5. */
const GAIN = SCHEDULE.reduce((gain, [a]) => gain * a, 1);

/** Above this residual the eigensolver takes over. */
export const RESIDUAL_LIMIT = 1e-2;

export interface NewtonSchulzPolar {
  polar: Tensor;
  value: Tensor;
  /**
   * ‖A² − A‖ of A = P·Pᵀ before the last step, zero when P is a partial isometry. It is ‖P·Pᵀ − I‖ less the nullity: a
   * converged direction counts 1 − p², a null one nothing. The last step cubes 1 − p.
   */
  residual: Tensor;
}

/** P after the steps of the schedule and one more. */
export function newtonSchulzPolar(matrix: Tensor): NewtonSchulzPolar {
  const exact = matrix.to({ dtype: "float64" });
  const gram = gramMatrix(exact);
  const identity = eye(gram.rows, { dtype: "float64", device: matrix.device });
  const scale = gram.norm().clamp(1e-290); // ‖G‖_F is at least σ₁², and closer to it than F's own norm; never zero
  const scaled = gram.div(scale);
  const m = iterate(scaled, identity);

  // A = P·Pᵀ from the first G shows what was lost on the way, and a step from there, (15 − 10A + 3A²)/8·P, mends it. On the
  // left of M, as a step of P: on the right it would multiply rounding errors that do not commute with G by F's condition.
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
 * M after the schedule, without the factors a (their product is GAIN), which would cost a kernel a step.
 *
 * A step is three products: K·G, K·Q with Q = (1 + u·G)·(1 + v·G + w·G²), and a²·(G·Q)·Q, where K is I, G and M on top of each
 * other. So that each K lies in one piece and nothing need be copied together, the steps write in turn into two sheets of
 * five blocks, one the mirror of the other: I, G, M, G·Q, Q and Q, G·Q, M, G, I. (With `beta: 0` a product's target is not
 * read.)
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
    const kg = k.mm(g); // its middle is G²
    const quadratic = identity.add(g, { alpha: v }).add_(blocks(kg, 1), { alpha: w });
    blocks(to, atK, 3).addmm_(k.add(kg, { alpha: u }), quadratic, { beta: 0 });
    if (polynomial === CLOSE) break; // what follows would be the next G
    blocks(to, 4 - atG).addmm_(blocks(to, atG), blocks(to, atQ), { beta: 0, alpha: a * a });
    [from, to] = [to, from];
    [atK, atG, atQ] = [2 - atK, 4 - atG, 4 - atQ];
  }
  return blocks(to, 2);
}
