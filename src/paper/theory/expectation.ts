/**
 * Expectations of the logistic loss and its derivatives over a margin S = Σ w_j z_j, to nearly double precision.
 *
 * The Mellin–Barnes form 1/(1 + e^s) = (1/2πi) ∫ π/sin(πu) e^{−us} du, over any vertical line 0 < Re u < 1, converts
 * E[−ℓ′(S)] to a one-dimensional integral over the moment generating function, which is known in closed form. The
 * integral ℓ of −ℓ′ has the kernel π/(u sin πu), and the derivative ℓ″ has uπ/sin(πu). The kernels decay like e^{−π|Im
 * u|} for every distribution, so one feature or a thousand cost the same. The trapezoidal rule on a line is spectrally
 * accurate: its error is the wrap-around from making the integrand's transform periodic, and the step size keeps it
 * below 1e-16. A line near the saddle point keeps small expectations accurate in relative and not only in absolute
 * terms.
 */

import { type Complex, complex, divide, exp, multiply, scale } from "./complex.js";
import {
  type Group,
  logMarginMgf,
  marginRadius,
  marginRange,
  tiltedMarginMean,
  tiltedMoment,
} from "./distributions.js";

/** The function of the margin: the loss ℓ, its negative slope −ℓ′ ∈ (0, 1), or its curvature ℓ″. */
export type LossFunction = "loss" | "slope" | "curvature";

/** ℓ(s) = ln(1 + e^{−s}). */
export function logisticLoss(s: number): number {
  return s > 0 ? Math.log1p(Math.exp(-s)) : -s + Math.log1p(Math.exp(s));
}

/** −ℓ′(s) = 1 / (1 + e^s). */
export function logisticSlope(s: number): number {
  return s > 0 ? Math.exp(-s) / (1 + Math.exp(-s)) : 1 / (1 + Math.exp(s));
}

/** ℓ″(s) = e^s / (1 + e^s)². */
export function logisticCurvature(s: number): number {
  return logisticSlope(s) * logisticSlope(-s);
}

/** Above this height e^{−πt} is below 1e-17. */
const LINE_HEIGHT = 12.5;
/** The natural logarithm of the maximum relative wrap-around error. */
const WRAP_LOG = 39;

interface Line {
  /** Re u. */
  readonly at: number;
  readonly step: number;
  readonly nodes: number;
}

/**
 * Returns the line Re u = c near the saddle point of E[e^{−uS}] / sin(πu), where the integrand has the least
 * cancellation.
 */
function chooseLine(groups: readonly Group[], shift: number): Line {
  const height = (c: number) => logMarginMgf(groups, complex(-c)).re - c * shift - Math.log(Math.sin(Math.PI * c));
  let low = 0.03;
  let high = 0.97;
  // The height is convex in c. A golden-section search with low precision is sufficient.
  const golden = (Math.sqrt(5) - 1) / 2;
  for (let i = 0; i < 8; i++) {
    const a = high - golden * (high - low);
    const b = low + golden * (high - low);
    if (height(a) < height(b)) high = b;
    else low = a;
  }
  const at = (low + high) / 2;
  const centre = tiltedMarginMean(groups, -at) + shift;
  const { low: least, high: most } = marginRange(groups);
  const reach = Math.min(
    Math.abs(centre) + marginRadius(groups),
    Math.max(Math.abs(least + shift), Math.abs(most + shift)),
  );
  const period = 2 * reach + WRAP_LOG / Math.min(at, 1 - at);
  const step = (2 * Math.PI) / period;
  return { at, step, nodes: Math.ceil(LINE_HEIGHT / step) };
}

function kernel(which: LossFunction, u: Complex): Complex {
  // π / sin(πu); sin(a + ib) = sin a cosh b + i cos a sinh b.
  const a = Math.PI * u.re;
  const b = Math.PI * u.im;
  const base = divide(complex(Math.PI), complex(Math.sin(a) * Math.cosh(b), Math.cos(a) * Math.sinh(b)));
  if (which === "slope") return base;
  return which === "loss" ? divide(base, u) : multiply(base, u);
}

/**
 * Computes (1/2πi) ∫ along the line of a function with conjugate values at conjugate points. `values` may return
 * several.
 */
function integrate(line: Line, count: number, values: (u: Complex) => readonly Complex[]): number[] {
  const sums = new Array<number>(count).fill(0);
  for (let k = 0; k <= line.nodes; k++) {
    const terms = values(complex(line.at, k * line.step));
    for (let i = 0; i < count; i++) sums[i] += (k === 0 ? 0.5 : 1) * terms[i].re;
  }
  return sums.map((sum) => (sum * line.step) / Math.PI);
}

/** Options of an expectation. */
export interface ExpectationOptions {
  /** A constant added to the margin. */
  shift?: number;
  /**
   * A factor E[h(z) e^{−uwz}] for features that are not in `groups`, as a function of −u. The result is then E[F(S +
   * w·z) h(z)].
   */
  factor?: (minusU: Complex) => Complex;
}

/** Returns E[F(S + shift)], or E[F(S + shift + w·z) h(z)] with a factor, for F the loss, slope or curvature. */
export function expectation(which: LossFunction, groups: readonly Group[], options: ExpectationOptions = {}): number {
  const { shift = 0, factor } = options;
  const line = chooseLine(groups, shift);
  const [value] = integrate(line, 1, (u) => {
    const minus = scale(u, -1);
    const margin = logMarginMgf(groups, minus);
    const term = multiply(kernel(which, u), exp(complex(margin.re - u.re * shift, margin.im - u.im * shift)));
    return [factor ? multiply(term, factor(minus)) : term];
  });
  return value;
}

/**
 * E ℓ(S) and its first and second derivatives by the weights of two groups (each weight applies to its whole group).
 */
export interface LossDerivatives {
  readonly loss: number;
  /** ∂/∂w₁, ∂/∂w₂. */
  readonly gradient: readonly [number, number];
  /** ∂²/∂w₁², ∂²/∂w₁∂w₂, ∂²/∂w₂². */
  readonly hessian: readonly [number, number, number];
}

/** Returns the expected loss of a two-group margin with its gradient and Hessian, in one pass along the line. */
export function lossDerivatives(first: Group, second: Group): LossDerivatives {
  const groups = [first, second];
  const [loss, g1, g2, h11, h12, h22] = integrate(chooseLine(groups, 0), 6, (u) => {
    const minus = scale(u, -1);
    const slope = multiply(kernel("slope", u), exp(logMarginMgf(groups, minus)));
    const curvature = multiply(slope, u);
    // E[Σz e^{−uS}] / E[e^{−uS}] and E[(Σz)² e^{−uS}] / E[e^{−uS}] of each group's sum.
    const a = tiltedSums(first, minus);
    const b = tiltedSums(second, minus);
    return [
      divide(slope, u),
      multiply(slope, a.one),
      multiply(slope, b.one),
      multiply(curvature, a.two),
      multiply(curvature, multiply(a.one, b.one)),
      multiply(curvature, b.two),
    ];
  });
  return { loss, gradient: [-g1, -g2], hessian: [h11, h12, h22] };
}

function tiltedSums({ gamma, weight, count }: Group, minusU: Complex): { one: Complex; two: Complex } {
  if (count === 0) return { one: complex(0), two: complex(0) };
  const v = scale(minusU, weight);
  const zero = tiltedMoment(gamma, 0, v);
  const one = divide(tiltedMoment(gamma, 1, v), zero);
  const two = divide(tiltedMoment(gamma, 2, v), zero);
  const pairs = scale(multiply(one, one), count * (count - 1));
  return { one: scale(one, count), two: { re: count * two.re + pairs.re, im: count * two.im + pairs.im } };
}
