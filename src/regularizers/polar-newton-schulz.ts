/**
 * The polar factor by Newton–Schulz: matrix products only, a fixed number of them, nothing read back. So it can be captured in
 * a CUDA graph, where an eigensolver cannot.
 *
 * Each step takes a singular value σ, scaled into (0, 1], to (15σ − 10σ³ + 3σ⁵)/8, which grows small ones by 15/8 and
 * converges to 1 with order three. It runs on the Gram matrix of the short side in float64 (G ← Q·G·Q, M ← Q·M with
 * Q = (15 − 10G + 3G²)/8), and P = M·F at the end: the products are 96 × 96 instead of 96 × 2048, and float64 keeps the
 * squares of small singular values. Until it has converged, ⟨P, F⟩ is below ‖F‖_*.
 */

import { eye } from "../engine/ops.generated.js";
import type { Tensor } from "../engine/tensor.js";
import { gramMatrix } from "./gram-matrix.js";
import { applyRoot } from "./polar-gram.js";

/** Enough for singular values down to 1e-5 of ‖G‖^½: (15/8)^20 is 3e5. */
const STEPS = 20;

/** Above this residual the eigensolver takes over. */
export const RESIDUAL_LIMIT = 1e-2;

/** ‖G − I‖ at which a batch of full rank needs no further step. One that lacks rank never gets there and takes them all. */
const CONVERGED = 1e-6;

export interface NewtonSchulzPolar {
  polar: Tensor;
  value: Tensor;
  /**
   * ‖A² − A‖ of A = P·Pᵀ, zero when P is a partial isometry. It is ‖P·Pᵀ − I‖ less the nullity: a converged direction
   * counts 1 − p², a null one nothing.
   */
  residual: Tensor;
}

/** P after at most 20 steps; with `deferred` after exactly 20, reading nothing. */
export function newtonSchulzPolar(matrix: Tensor, { deferred }: { deferred: boolean }): NewtonSchulzPolar {
  const gram = gramMatrix(matrix);
  const side = gram.rows;
  const identity = eye(side, { dtype: "float64", device: matrix.device });
  const scale = gram.norm().clamp(1e-290); // ‖G‖_F is at least σ₁², and closer to it than F's own norm; never zero
  let g = gram.div(scale);
  let m = identity.div(scale.sqrt());
  // Reading a number back is free on the CPU; on a GPU it would cost more than the steps it saves.
  const mayStop = !deferred && matrix.device === "cpu";
  for (let step = 0; step < STEPS; step++) {
    if (mayStop && g.sub(identity).norm().item() <= CONVERGED) break;
    const q = identity
      .mul(15 / 8)
      .addmm_(g, g, { alpha: 3 / 8 })
      .sub_(g, { alpha: 10 / 8 });
    m = q.mm(m);
    g = q.mm(g).mm(q);
  }
  const projector = m.mm(gram).mm(m); // P·Pᵀ, from the first G: it shows what was lost on the way
  return {
    polar: applyRoot(m, matrix, true),
    value: m.mul(gram).sum(), // ⟨M·F, F⟩
    residual: projector.mm(projector).sub(projector).norm(),
  };
}
