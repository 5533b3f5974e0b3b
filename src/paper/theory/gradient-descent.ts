/**
 * A cross-check of the two-parameter solution of ERM-ℓ2: gradient descent on all d weights from zero, with a new batch
 * from D_id at each step, and averaged iterates (Polyak and Ruppert). It does not use groups or symmetry.
 *
 * With new draws it minimizes the population objective and not that of one sample. Standard errors come from the means
 * of ten consecutive segments of the averaged iterates.
 */

import { INVARIANT } from "./distributions.js";
import { type Draw, drawFeature, draws } from "./draws.js";
import { logisticCurvature, logisticSlope } from "./expectation.js";

/** The problem to solve. */
export interface DescentProblem {
  readonly r: number;
  readonly d: number;
  readonly gamma: number;
  readonly lambda: number;
  /** The total number of draws over all steps. */
  readonly samples: number;
  readonly seed: number;
}

/** The averaged weights of a group of features. */
export interface GroupEstimate {
  readonly mean: number;
  readonly standardError: number;
  /**
   * The standard deviation of the averaged weights within the group, which is sampling noise if the true weights are
   * equal.
   */
  readonly spread: number;
}

/** The result of gradient descent on all weights. */
export interface DescentResult {
  readonly steps: number;
  readonly batch: number;
  readonly samples: number;
  readonly invariant: GroupEstimate;
  readonly spurious: GroupEstimate;
  /**
   * The number of time constants of the slowest direction in the averaged part. Below 20 the result still depends on
   * the initial point.
   */
  readonly timeConstants: number;
  readonly converged: boolean;
}

const STRETCHES = 10;
/** The share of the first steps that are not averaged. */
const BURN_IN = 0.3;

/** Runs gradient descent. */
export function descend({ r, d, gamma, lambda, samples, seed }: DescentProblem): DescentResult {
  const draw = draws(seed, "gradient-descent");
  const batch = Math.max(1, Math.min(40, Math.floor(samples / 400)));
  const steps = Math.floor(samples / batch);
  const averagedFrom = Math.floor(BURN_IN * steps);
  const perStretch = Math.max(1, Math.floor((steps - averagedFrom) / STRETCHES));
  const w = new Float64Array(d);
  const z = new Float64Array(d);
  const gradient = new Float64Array(d);
  const average = new Float64Array(d);
  const stretches: { invariant: number; spurious: number }[] = [];
  let stretch = { invariant: 0, spurious: 0 };
  let averaged = 0;
  let curvature = 0.25; // a running mean of the loss's curvature, which decreases as the margins grow and then allows longer steps
  let slowest = 0;
  // The largest eigenvalue of E[zzᵀ] (trace bound of its rank-one part), and the contribution of a finite batch.
  const largest = r / 4 + (d - r) * gamma * gamma + 1 / 3 + d / 3 / batch;

  for (let step = 0; step < steps; step++) {
    gradient.fill(0);
    let bent = 0;
    for (let i = 0; i < batch; i++) {
      const s = drawMargin(w, z, r, gamma, draw);
      const slope = logisticSlope(s);
      bent += logisticCurvature(s);
      for (let j = 0; j < d; j++) gradient[j] += slope * z[j];
    }
    curvature += 0.1 * (bent / batch - curvature);
    const rate = 1 / (2 * curvature * largest + lambda);
    for (let j = 0; j < d; j++) w[j] += rate * (gradient[j] / batch - lambda * w[j]);
    if (step < averagedFrom) continue;
    slowest += rate * lambda;
    averaged++;
    for (let j = 0; j < d; j++) average[j] += (w[j] - average[j]) / averaged;
    stretch.invariant += groupMean(w, 0, r) / perStretch;
    stretch.spurious += groupMean(w, r, d) / perStretch;
    if (averaged % perStretch === 0) {
      stretches.push(stretch);
      stretch = { invariant: 0, spurious: 0 };
    }
  }
  return {
    steps,
    batch,
    samples: steps * batch,
    invariant: estimate(
      average,
      0,
      r,
      stretches.map(({ invariant }) => invariant),
    ),
    spurious: estimate(
      average,
      r,
      d,
      stretches.map(({ spurious }) => spurious),
    ),
    timeConstants: slowest,
    converged: slowest >= 20,
  };
}

/** Draws z from D_id into `z` and returns w·z. */
function drawMargin(w: Float64Array, z: Float64Array, r: number, gamma: number, draw: Draw): number {
  let s = 0;
  for (let j = 0; j < z.length; j++) {
    z[j] = drawFeature(j < r ? INVARIANT : gamma, draw);
    s += w[j] * z[j];
  }
  return s;
}

function groupMean(values: Float64Array, from: number, to: number): number {
  let sum = 0;
  for (let j = from; j < to; j++) sum += values[j];
  return sum / (to - from);
}

function estimate(average: Float64Array, from: number, to: number, stretches: readonly number[]): GroupEstimate {
  const mean = groupMean(average, from, to);
  const centre = stretches.reduce((sum, x) => sum + x, 0) / stretches.length;
  const between = stretches.reduce((sum, x) => sum + (x - centre) ** 2, 0) / Math.max(1, stretches.length - 1);
  let within = 0;
  for (let j = from; j < to; j++) within += (average[j] - mean) ** 2;
  return {
    mean,
    standardError: Math.sqrt(between / stretches.length),
    spread: Math.sqrt(within / Math.max(1, to - from - 1)),
  };
}
