/**
 * The polar factor P = U·Vᵀ of a batch of features F = U·diag(σ)·Vᵀ, and the nuclear norm ‖F‖_* = Σσ = ⟨P, F⟩.
 *
 * P is the gradient of ‖F‖_*, so nothing has to differentiate through a decomposition: P is computed without a graph, by
 * whichever route is fastest where the features are, in float64 whatever the features are in. Where a singular value is at or
 * below `smallest(…)·σ₁` P takes the subgradient zero, so that rank-deficient, repeated, zero and one-row batches are defined
 * and finite. The value counts every singular value.
 *
 * - `svd`: the reference the others are tested against.
 * - `gram`: Gram matrix of the short side and a symmetric eigensolver; P to 1e-4 wherever it is not zero, σ > 4e-6·σ₁.
 * - `newton-schulz`: matrix products only, for GPUs; nothing has to be read back.
 */

import { zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor, tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import { toFullPrecision } from "../nn/precision.js";
import { withOneBlasThread } from "./one-blas-thread.js";
import { gramPolar } from "./polar-gram.js";
import { newtonSchulzPolar, RESIDUAL_LIMIT } from "./polar-newton-schulz.js";
import { svdPolar } from "./polar-svd.js";

export const polarRoutes = ["svd", "gram", "newton-schulz"] as const;
export type PolarRoute = (typeof polarRoutes)[number];

export interface PolarFactor {
  /** U·Vᵀ, as large as the features; float32 or float64; no gradient flows through it. */
  polar: Tensor;
  /** ‖F‖_*, a float64 scalar on the features' device; a lower bound with `newton-schulz` until it has converged. */
  value: Tensor;
  /** The route that made it, which after a fallback is not the one asked for. */
  route: PolarRoute;
  /** `newton-schulz`: how far P is from a polar factor, a scalar on the features' device. See `residualTooLarge`. */
  residual?: Tensor;
}

export interface PolarOptions {
  /** `auto` (the default) picks by dtype and device. */
  route?: PolarRoute | "auto";
  /** What the matrix is, for messages: "the features at step 101". */
  what?: string;
  /** Receives a message when Newton–Schulz has not converged and the eigensolver is used instead. */
  notice?: (message: string) => void;
  /** Read nothing back from the device, as inside a captured graph: Newton–Schulz, its residual left to the caller. */
  deferred?: boolean;
}

/** The polar factor of a matrix [n, d] and its nuclear norm; see the top of the file. */
export function polarFactor(features: Tensor, options: PolarOptions = {}): PolarFactor {
  const { what = "the features", notice, deferred = false } = options;
  if (features.shape.length !== 2) {
    throw new UsageError(`nuclear norm: expected ${what} as a matrix [rows, width], got ${features.describe()}`);
  }
  const asked = options.route ?? "auto";
  const route = asked === "auto" ? automaticRoute(features, deferred) : asked;
  if (deferred && route !== "newton-schulz") {
    throw new UsageError(`nuclear norm: the route "${route}" reads from the device; deferred takes "newton-schulz"`);
  }
  const compute = (): PolarFactor => {
    const matrix = toFullPrecision(features);
    const { dtype, device } = matrix;
    if (dtype !== "float32" && dtype !== "float64") {
      throw new UsageError(`nuclear norm: expected ${what} as floating-point numbers, got ${features.describe()}`);
    }
    const scalar = (value: number): Tensor => tensor(Float64Array.of(value), { shape: [], device });
    if (matrix.numel === 0) return { polar: zeros(matrix.shape, { dtype, device }), value: scalar(0), route };

    const cutoff = smallest(matrix);
    const bySvd = (): PolarFactor => {
      checkFinite(matrix, what);
      const { polar, value } = svdPolar(matrix, cutoff);
      return { polar, value: scalar(value), route: "svd" };
    };
    const byGram = (): PolarFactor => {
      const found = gramPolar(matrix, cutoff);
      return found ? { polar: found.polar, value: scalar(found.value), route: "gram" } : bySvd();
    };
    if (route === "svd") return bySvd();
    if (route === "gram") return byGram();
    const found = newtonSchulzPolar(matrix);
    if (deferred) return { ...found, route };
    const residual = found.residual.item();
    if (Number.isFinite(residual) && !residualTooLarge(residual)) return { ...found, route };
    const instead = byGram(); // where the numbers are not finite, this is what says so
    notice?.(
      `nuclear norm: Newton–Schulz left a residual of ${residual.toExponential(1)} on ${what} ` +
        `(at most ${RESIDUAL_LIMIT} is taken as converged), so they went through the eigensolver`,
    );
    return instead;
  };
  return scope(() => noGrad(() => withOneBlasThread(features, compute)));
}

/** Whether a residual that was left on the device says that Newton–Schulz has not converged; NaN says so too. */
export function residualTooLarge(residual: number): boolean {
  return !(residual <= RESIDUAL_LIMIT);
}

/**
 * The Gram matrix, as exact as float32 features can tell; float64 features are there to be exact and get the SVD. On a GPU
 * too: launched one by one, the many small products of Newton–Schulz are at best a little ahead of the eigensolver (H200, 32, 96
 * and 192 rows: 1.2, 1.3 and 1.3 ms against 0.8, 1.9 and 2.2). Inside a captured graph nothing may be read back, which leaves
 * Newton–Schulz, at 0.13 to 0.2 ms.
 */
function automaticRoute(features: Tensor, deferred: boolean): PolarRoute {
  if (deferred) return "newton-schulz";
  return features.dtype === "float64" ? "svd" : "gram";
}

/**
 * The singular values, relative to σ₁, that count as zero: `max(n, d)·eps` of the float64 they are computed in, and at least
 * 32·eps of float32 for float32 features, which is above their own rounding. (`max(n, d)·eps` of float32 would drop σ₁/4096
 * at a width of 2048, where the computed direction is good to 1e-8.)
 */
function smallest({ shape, dtype }: Tensor): number {
  return Math.max(Math.max(...shape) * 2 ** -52, dtype === "float32" ? 32 * 2 ** -23 : 0);
}

/** LAPACK may not end on NaN, so it must not see one. The largest magnitude is NaN or Inf when any element is. */
function checkFinite(matrix: Tensor, what: string): void {
  if (Number.isFinite(matrix.abs().max().item())) return;
  throw new EngineError(
    `nuclear norm: ${what} hold NaN or Inf (${matrix.describe()}). The step before left the backbone without finite ` +
      "numbers: lower the learning rate or the weight, or look for bad inputs",
    "nuclear-norm",
    [matrix.describe()],
  );
}
