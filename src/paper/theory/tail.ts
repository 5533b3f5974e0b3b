/**
 * P[S ≥ x] for a margin S of independent groups, accurate far into the tail.
 *
 * The distribution is tilted by e^{cS} until its mean is x (the saddle point), so that the rest of the computation is
 * of order one: P[S ≥ x] = e^{K(c) − cx} · E_c[e^{−c(S−x)}; S ≥ x]. The margin is bounded, so this expectation is a
 * Fourier series in the tilted characteristic function, in which only the number of terms is an approximation. With
 * three or fewer features the series converges too slowly, and the volume of a cube cut by a plane is used instead,
 * which is a short alternating sum.
 */

import { complex, exp, multiply } from "./complex.js";
import {
  type Group,
  logMarginMgf,
  marginRadius,
  marginRange,
  tiltedMarginMean,
  uniformMoment,
} from "./distributions.js";

/**
 * A probability with the base-ten logarithms of it and of its complement (−∞ for an impossible event), which do not
 * underflow.
 */
export interface Probability {
  readonly value: number;
  readonly log10: number;
  readonly log10Complement: number;
}

const FEW = 3;
/** The series is truncated when the rest is below this fraction of the sum. */
const RELATIVE = 1e-16;
const MOST_TERMS = 4_000_000;

/** Returns P[S ≥ x]. */
export function upperTail(groups: readonly Group[], x = 0): Probability {
  const active = groups.filter(({ count, weight }) => count > 0 && weight !== 0);
  const { low, high } = marginRange(active);
  if (x <= low) return fromLog(0, true);
  if (x > high) return fromLog(Number.NEGATIVE_INFINITY, true);
  const features = active.reduce((sum, { count }) => sum + count, 0);
  if (features <= FEW) return few(active, x);
  const centre = tiltedMarginMean(active, 0);
  if (x >= centre) return fromLog(logTail(active, x), true);
  // The smaller side is computed: P[S < x] = P[−S > −x], because a single value has probability zero.
  const mirrored = active.map((group) => ({ ...group, weight: -group.weight }));
  return fromLog(logTail(mirrored, -x), false);
}

function fromLog(log: number, isEvent: boolean): Probability {
  const log10 = log / Math.LN10;
  const rest = Math.log1p(-Math.exp(log)) / Math.LN10;
  return isEvent
    ? { value: Math.exp(log), log10, log10Complement: rest }
    : { value: -Math.expm1(log), log10: rest, log10Complement: log10 };
}

/** Returns ln P[S ≥ x] for x between the mean and the largest value. */
function logTail(groups: readonly Group[], x: number): number {
  const tilt = saddle(groups, x);
  const atSaddle = logMarginMgf(groups, complex(tilt)).re;
  const reach = marginRadius(groups);
  const step = Math.PI / reach; // with the period 2·reach, S − x stays inside ±reach
  const features = groups.reduce((sum, { count }) => sum + count, 0);
  let sum = 0.5 * windowTransform(tilt, 0, reach).re;
  for (let k = 1; k < MOST_TERMS; k++) {
    const t = k * step;
    const log = logMarginMgf(groups, complex(tilt, t));
    const tilted = exp(complex(log.re - atSaddle, log.im - t * x));
    sum += multiply(tilted, windowTransform(tilt, t, reach)).re;
    if (k % 16 === 0 && envelope(groups, tilt, t) < RELATIVE * features * Math.abs(sum) * step) break;
  }
  return atSaddle - tilt * x + Math.log((sum * 2) / (2 * reach));
}

/** ∫₀^T e^{−(c+it)y} dy: the transform of e^{−cy} on [0, T]. */
function windowTransform(tilt: number, t: number, length: number) {
  const v = complex(-tilt * length, -t * length);
  const moment = uniformMoment(0, v);
  return complex(moment.re * length, moment.im * length);
}

/** Returns the c with K′(c) = x. K′ increases from the mean at 0 towards the largest value. */
export function saddle(groups: readonly Group[], x: number): number {
  const heaviest = Math.max(...groups.map(({ weight }) => Math.abs(weight)));
  let low = 0;
  let high = 1 / heaviest;
  while (tiltedMarginMean(groups, high) < x && high * heaviest < 1e12) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (tiltedMarginMean(groups, middle) < x) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * Returns a decreasing bound on the tilted characteristic function at t. The function's own zeros must not end the
 * series.
 */
function envelope(groups: readonly Group[], tilt: number, t: number): number {
  let log = 0;
  for (const { weight, count } of groups) {
    // |∫ e^{vz}| ≤ (e^{Re v} + 1) / |v|, relative to its value at Re v. The Bernoulli factor of D_γ is at most one.
    const real = Math.abs(tilt * weight);
    const size = Math.hypot(real, t * weight);
    const atReal = uniformMoment(0, complex(-real)).re; // both sides divided by e^{Re v}
    log += count * Math.min(0, Math.log((1 + Math.exp(-real)) / size / atReal));
  }
  return Math.exp(log);
}

/**
 * Returns P[S ≥ x] for one to three features: a sum over the Bernoulli variables of D_γ of the volume of a cube cut by
 * a plane.
 */
function few(groups: readonly Group[], x: number): Probability {
  const features = groups.flatMap(({ gamma, weight, count }) =>
    Array.from({ length: count }, () => ({ gamma, weight })),
  );
  const weights = features.map(({ weight }) => weight);
  let value = 0;
  for (let coins = 0; coins < 2 ** features.length; coins++) {
    let chance = 1;
    let threshold = x;
    features.forEach(({ gamma, weight }, j) => {
      const fell = (coins >> j) & 1;
      chance *= fell ? 0.5 - gamma : 0.5 + gamma;
      threshold += fell ? weight : 0;
    });
    if (chance > 0) value += chance * cubeAbove(weights, threshold);
  }
  return { value, log10: Math.log10(value), log10Complement: Math.log10(1 - value) };
}

/** Returns the volume of the part of the unit cube with Σ w_j u_j ≥ x, by inclusion and exclusion over its corners. */
function cubeAbove(weights: readonly number[], x: number): number {
  // Reflects negative weights: w·u = w + |w|(1 − u).
  const positive = weights.map(Math.abs);
  const from = x - weights.reduce((sum, w) => sum + Math.min(0, w), 0);
  const total = positive.reduce((sum, w) => sum + w, 0);
  if (from <= 0) return 1;
  if (from >= total) return 0;
  const n = weights.length;
  let below = 0;
  for (let corner = 0; corner < 2 ** n; corner++) {
    let rest = from;
    let sign = 1;
    positive.forEach((w, j) => {
      if ((corner >> j) & 1) {
        rest -= w;
        sign = -sign;
      }
    });
    if (rest > 0) below += sign * rest ** n;
  }
  const scale = positive.reduce((product, w, j) => product * w * (j + 1), 1);
  return Math.min(1, Math.max(0, 1 - below / scale));
}
