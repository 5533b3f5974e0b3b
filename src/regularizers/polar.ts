/**
 * The polar factor P = U·Vᵀ of a batch of features F = U·diag(σ)·Vᵀ, and the nuclear norm ‖F‖_* = Σσ = ⟨P, F⟩.
 *
 * P is the gradient of ‖F‖_*, so autograd does not have to differentiate a decomposition. P is computed without a
 * graph, in float64 for every input dtype, by the route that is fastest on the device of the features. For singular
 * values up to `smallest(…)·σ₁`, P uses the subgradient zero, so it is defined and finite for rank-deficient, repeated,
 * zero and one-row batches. The value includes every singular value.
 *
 * - `svd`: the reference that the other routes are tested against.
 * - `gram`: the Gram matrix of the shorter side and a symmetric eigensolver. P is accurate to 1e-4 where it is not
 *   zero,   which is for σ > 4e-6·σ₁.
 * - `newton-schulz`: matrix products only, for GPUs. Nothing is read from the device.
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
  /** U·Vᵀ, with the shape of the features, in float32 or float64. No gradient flows through it. */
  polar: Tensor;
  /** ‖F‖_*, a float64 scalar on the features' device. With `newton-schulz` it is a lower bound before convergence. */
  value: Tensor;
  /** The route that computed the result. After a fallback it differs from the requested route. */
  route: PolarRoute;
  /**
   * Only with `newton-schulz`: how far P is from a polar factor, as a scalar on the features' device. See
   * `residualTooLarge`.
   */
  residual?: Tensor;
}

export interface PolarOptions {
  /** The default, `auto`, selects a route by dtype and device. */
  route?: PolarRoute | "auto";
  /** A description of the matrix for messages, such as "the features at step 101". */
  what?: string;
  /** Receives a message when Newton–Schulz has not converged and the eigensolver is used instead. */
  notice?: (message: string) => void;
  /**
   * If true, nothing is read from the device, as required inside a captured graph. This uses Newton–Schulz, and the
   * caller has to check the residual.
   */
  deferred?: boolean;
}

/** Returns the polar factor of a matrix [n, d] and its nuclear norm. The top of this file describes both. */
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
    const instead = byGram(); // this throws an error if the numbers are not finite
    notice?.(
      `nuclear norm: Newton–Schulz left a residual of ${residual.toExponential(1)} on ${what} ` +
        `(at most ${RESIDUAL_LIMIT} is taken as converged), so they went through the eigensolver`,
    );
    return instead;
  };
  return scope(() => noGrad(() => withOneBlasThread(features, compute)));
}

/**
 * Returns true if a residual that was kept on the device shows that Newton–Schulz has not converged. NaN counts as not
 * converged.
 */
export function residualTooLarge(residual: number): boolean {
  return !(residual <= RESIDUAL_LIMIT);
}

/**
 * Selects the Gram matrix for float32, where it is as accurate as the features allow, and the SVD for float64. This
 * holds on a GPU too: if its many small products are launched one by one, Newton–Schulz is at best slightly faster than
 * the eigensolver (H200, 32, 96 and 192 rows: 1.2, 1.3 and 1.3 ms against 0.8, 1.9 and 2.2 ms). Inside a captured graph
 * nothing may be read from the device, so only Newton–Schulz is possible there; it takes 0.13 to 0.2 ms.
 */
function automaticRoute(features: Tensor, deferred: boolean): PolarRoute {
  if (deferred) return "newton-schulz";
  return features.dtype === "float64" ? "svd" : "gram";
}

/**
 * Returns the threshold, relative to σ₁, below which singular values count as zero. It is `max(n, d)·eps` of float64,
 * in which they are computed. For float32 features it is at least 32·eps of float32, which is above their rounding
 * error. (`max(n, d)·eps` of float32 would drop σ₁/4096 at a width of 2048, where the computed direction is accurate to
 * 1e-8.)
 */
function smallest({ shape, dtype }: Tensor): number {
  return Math.max(Math.max(...shape) * 2 ** -52, dtype === "float32" ? 32 * 2 ** -23 : 0);
}

/** LAPACK may not terminate on NaN, so check first. The largest magnitude is NaN or Inf if any element is. */
function checkFinite(matrix: Tensor, what: string): void {
  if (Number.isFinite(matrix.abs().max().item())) return;
  throw new EngineError(
    `nuclear norm: ${what} hold NaN or Inf (${matrix.describe()}). The step before left the backbone without finite ` +
      "numbers: lower the learning rate or the weight, or look for bad inputs",
    "nuclear-norm",
    [matrix.describe()],
  );
}
