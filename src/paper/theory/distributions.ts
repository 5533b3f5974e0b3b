/**
 * The two feature distributions of Section 4 and the exact distribution of their margins.
 *
 * An invariant feature is uniform on [0, 1] in and out of domain. A spurious feature follows D_γ in domain and D_{−γ}
 * out of domain: uniform on [0, 1] with probability ½ + γ, and uniform on [−1, 0] with probability ½ − γ. Equivalently,
 * z = U − B with U uniform on [0, 1] and B Bernoulli with probability ½ − γ, so its moment generating function is a
 * product. For γ = ½, B is always 0 and D_γ is the invariant distribution, so one family with one parameter covers
 * both.
 *
 * A margin y·f_w(x) is a sum of independent weighted features. Features of equal weight and distribution form a group.
 */

import { add, type Complex, complex, divide, exp, log, multiply, scale } from "./complex.js";

/** γ of the invariant features, which are uniform on [0, 1]. */
export const INVARIANT = 0.5;

/** `count` independent features drawn from D_γ with the same weight in the margin. */
export interface Group {
  readonly gamma: number;
  readonly weight: number;
  readonly count: number;
}

/** E[z] of D_γ. */
export function mean(gamma: number): number {
  return gamma;
}

/** Var[z] of D_γ. E[z²] is 1/3 for every γ. */
export function variance(gamma: number): number {
  return 1 / 3 - gamma * gamma;
}

/** The density of D_γ at z. */
export function density(gamma: number, z: number): number {
  if (z < -1 || z > 1) return 0;
  return z < 0 ? 0.5 - gamma : 0.5 + gamma;
}

/** Below this |v| the power series is used, because the closed forms of ∫ z^k e^{vz} have cancellation errors. */
const SERIES_RADIUS = 1;

/** The number of terms after which |v|^n / n! is below 1e-18, for |v| up to ¼, ½ and 1. */
function seriesTerms(size: number): number {
  return size < 0.25 ? 11 : size < 0.5 ? 14 : 19;
}

/** ∫₀¹ z^k e^{vz} dz for k = 0, 1, 2. */
export function uniformMoment(k: 0 | 1 | 2, v: Complex): Complex {
  const size = Math.hypot(v.re, v.im);
  if (size < SERIES_RADIUS) {
    // Σ_n v^n / (n! (n + k + 1)) with Horner's scheme from the last term. It uses scalars, because this is the
    // innermost loop.
    const terms = seriesTerms(size);
    let re = 1 / (terms + k + 1);
    let im = 0;
    for (let n = terms; n >= 1; n--) {
      const next = (re * v.re - im * v.im) / n + 1 / (n + k);
      im = (re * v.im + im * v.re) / n;
      re = next;
    }
    return { re, im };
  }
  const e = exp(v);
  if (k === 0) return divide(add(e, complex(-1)), v);
  const square = multiply(v, v);
  if (k === 1) return divide(add(multiply(e, add(v, complex(-1))), complex(1)), square);
  const polynomial = add(add(square, scale(v, -2)), complex(2));
  return divide(add(multiply(e, polynomial), complex(-2)), multiply(square, v));
}

/** E[z^k e^{vz}; z ≥ 0] under D_γ. */
export function positivePart(gamma: number, k: 0 | 1 | 2, v: Complex): Complex {
  return scale(uniformMoment(k, v), 0.5 + gamma);
}

/** E[z^k e^{vz}; z < 0] under D_γ. */
export function negativePart(gamma: number, k: 0 | 1 | 2, v: Complex): Complex {
  return scale(uniformMoment(k, scale(v, -1)), (0.5 - gamma) * (k === 1 ? -1 : 1));
}

/** E[z^k e^{vz}] under D_γ. */
export function tiltedMoment(gamma: number, k: 0 | 1 | 2, v: Complex): Complex {
  return gamma === INVARIANT ? uniformMoment(k, v) : add(positivePart(gamma, k, v), negativePart(gamma, k, v));
}

/** log E[e^{vz}] under D_γ, without overflow for any v. */
export function logMgf(gamma: number, v: Complex): Complex {
  // E[e^{vU}] = e^v E[e^{−vU}] keeps the exponential below one.
  const uniform = v.re > 0 ? add(v, log(uniformMoment(0, scale(v, -1)))) : log(uniformMoment(0, v));
  if (gamma === INVARIANT) return uniform;
  const p = 0.5 + gamma;
  const q = 0.5 - gamma;
  const coin =
    v.re > 0
      ? log(add(complex(p), scale(exp(scale(v, -1)), q)))
      : add(scale(v, -1), log(add(complex(q), scale(exp(v), p))));
  return add(uniform, coin);
}

/** log E[e^{uS}] for the margin S of independent groups. */
export function logMarginMgf(groups: readonly Group[], u: Complex): Complex {
  let total = complex(0);
  for (const { gamma, weight, count } of groups) {
    if (count > 0 && weight !== 0) total = add(total, scale(logMgf(gamma, scale(u, weight)), count));
  }
  return total;
}

function smallest(gamma: number): number {
  return gamma === 0.5 ? 0 : -1;
}

function largest(gamma: number): number {
  return gamma === -0.5 ? 0 : 1;
}

/** The mean of D_γ tilted by e^{vz}, for a real v. */
export function tiltedMean(gamma: number, v: number): number {
  // For large |v|, z concentrates at an end: E[z e^{vz}] and E[e^{vz}] overflow, but their ratio has a simple limit.
  if (Math.abs(v) > 500) return (v > 0 ? largest(gamma) : smallest(gamma)) - 1 / v;
  return tiltedMoment(gamma, 1, complex(v)).re / tiltedMoment(gamma, 0, complex(v)).re;
}

/** The mean of the margin under the distribution tilted by e^{uS}, K′(u). */
export function tiltedMarginMean(groups: readonly Group[], u: number): number {
  return groups.reduce((sum, g) => sum + g.count * g.weight * tiltedMean(g.gamma, u * g.weight), 0);
}

/** Returns the smallest and largest possible value of the margin. */
export function marginRange(groups: readonly Group[]): { low: number; high: number } {
  let low = 0;
  let high = 0;
  for (const { gamma, weight, count } of groups) {
    low += count * Math.min(weight * smallest(gamma), weight * largest(gamma));
    high += count * Math.max(weight * smallest(gamma), weight * largest(gamma));
  }
  return { low, high };
}

/**
 * Returns a distance from the mean that the margin exceeds with probability below 2e-21, tilted or not. Hoeffding's
 * inequality only requires bounded independent terms, and tilting does not change the bounds.
 */
export function marginRadius(groups: readonly Group[]): number {
  let squares = 0;
  for (const { gamma, weight, count } of groups) {
    squares += count * (weight * (largest(gamma) - smallest(gamma))) ** 2;
  }
  const { low, high } = marginRange(groups);
  return Math.min(high - low, Math.sqrt((squares * Math.log(1e21)) / 2));
}
