/**
 * How far the nuclear norm keeps the rank solution's promise: for which λ and which γ its minimiser uses invariant features only.
 *
 * With β = 0 the stationarity of α says r·E[−ℓ′ z_k] = λ·(∂penalty/∂α); β stays zero while m·γ·E[−ℓ′] ≤ λ·(∂penalty/∂β). Divided,
 * λ and the scale drop out but for the ratio ρ = E[−ℓ′ z_k]/E[−ℓ′], which falls from ½ as α grows, that is as λ falls. So
 * there is a smallest λ, and at a given λ a largest γ. For many features the condition tends to
 * γ/√(1/3 − γ²) ≤ ½/√(1/12), a comparison of signal-to-noise ratios which is true for every γ < ½.
 */

import { scale } from "./complex.js";
import { INVARIANT, uniformMoment } from "./distributions.js";
import { expectation } from "./expectation.js";
import {
  invariantResistance,
  largestUsefulLambda,
  type NuclearProblem,
  penaltyForm,
  solveInvariantOnly,
  spuriousResistance,
} from "./nuclear.js";

/** The λ and γ between which the support is exactly the invariant features. */
export interface PromiseLimits {
  /** The smallest λ at which the support is R; null where it is R for no λ, 0 where the limit is below 1e-250. */
  readonly smallestLambda: number | null;
  /** From this λ on the minimiser is w = 0. */
  readonly lambdaMax: number;
  /** At the given λ (and r, d), the largest γ at which the support is R; null where no γ below ½ leaves it, or λ is too large. */
  readonly largestGamma: number | null;
}

const LARGEST_ALPHA = 1e4;
const SMALLEST_EXPECTATION = 1e-250;

/** Finds the limits of the promise around a setting. */
export function promiseLimits(problem: NuclearProblem): PromiseLimits {
  return {
    smallestLambda: smallestLambda(problem),
    lambdaMax: largestUsefulLambda(problem, penaltyForm(problem)),
    largestGamma: largestGamma(problem),
  };
}

/** E[−ℓ′(αX)] and E[−ℓ′(αX) z_k] for X the sum of the r invariant features, z_k among them. */
function slopes(r: number, alpha: number): { slope: number; withFeature: number } {
  const all = { gamma: INVARIANT, weight: alpha, count: r };
  return {
    slope: expectation("slope", [all]),
    withFeature: expectation("slope", [{ ...all, count: r - 1 }], {
      factor: (minusU) => uniformMoment(1, scale(minusU, alpha)),
    }),
  };
}

function smallestLambda(problem: NuclearProblem): number | null {
  const { r, d, gamma } = problem;
  const form = penaltyForm(problem);
  const needed = ((d - r) * gamma * invariantResistance(form)) / (r * spuriousResistance(form));
  if (needed >= 0.5) return null;
  const lambdaAt = (alpha: number) => (r * slopes(r, alpha).withFeature) / invariantResistance(form);
  const kept = (alpha: number) => {
    const { slope, withFeature } = slopes(r, alpha);
    return withFeature / slope >= needed;
  };
  let low = 0;
  let high = 1 / Math.sqrt(r);
  while (kept(high)) {
    low = high;
    high *= 2;
    if (high > LARGEST_ALPHA || lambdaAt(high) < SMALLEST_EXPECTATION) return 0;
  }
  for (let i = 0; i < 32; i++) {
    const middle = (low + high) / 2;
    if (kept(middle)) low = middle;
    else high = middle;
  }
  return lambdaAt((low + high) / 2);
}

function largestGamma(problem: NuclearProblem): number | null {
  const { r, d, lambda } = problem;
  // With β = 0 nothing depends on γ but the two sides of the condition itself, and their ratio grows with γ.
  const alpha = solveInvariantOnly(problem, penaltyForm(problem));
  if (alpha === 0) return null;
  const slope = expectation("slope", [{ gamma: INVARIANT, weight: alpha, count: r }]);
  const kept = (gamma: number) => (d - r) * gamma * slope <= lambda * spuriousResistance(penaltyForm({ r, d, gamma }));
  let low = 0;
  let high = 0.5;
  if (kept(high)) return null;
  for (let i = 0; i < 50; i++) {
    const middle = (low + high) / 2;
    if (kept(middle)) low = middle;
    else high = middle;
  }
  return low;
}
