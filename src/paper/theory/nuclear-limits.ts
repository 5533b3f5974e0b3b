/**
 * The limits of the nuclear norm: for which λ and which γ its minimizer uses only invariant features, like the rank
 * solution.
 *
 * For β = 0 the stationarity of α is r·E[−ℓ′ z_k] = λ·(∂penalty/∂α), and β stays zero while m·γ·E[−ℓ′] ≤
 * λ·(∂penalty/∂β). In the quotient, λ and the scale only appear in the ratio ρ = E[−ℓ′ z_k]/E[−ℓ′], which decreases
 * from ½ as α grows, that is, as λ decreases. So there is a smallest λ, and for a given λ a largest γ. For many
 * features the condition tends to γ/√(1/3 − γ²) ≤ ½/√(1/12), a comparison of signal-to-noise ratios that is true for
 * every γ < ½.
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

/** The range of λ and γ in which the support is exactly the invariant features. */
export interface PromiseLimits {
  /** The smallest λ for which the support is R; null if there is none, 0 if the limit is below 1e-250. */
  readonly smallestLambda: number | null;
  /** From this λ on the minimizer is w = 0. */
  readonly lambdaMax: number;
  /**
   * For the given λ (and r, d), the largest γ for which the support is R; null if every γ below ½ has it, or if λ is
   * too large.
   */
  readonly largestGamma: number | null;
}

const LARGEST_ALPHA = 1e4;
const SMALLEST_EXPECTATION = 1e-250;

/** Finds the limits for a setting. */
export function promiseLimits(problem: NuclearProblem): PromiseLimits {
  return {
    smallestLambda: smallestLambda(problem),
    lambdaMax: largestUsefulLambda(problem, penaltyForm(problem)),
    largestGamma: largestGamma(problem),
  };
}

/** E[−ℓ′(αX)] and E[−ℓ′(αX) z_k] for X the sum of the r invariant features, including z_k. */
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
  // For β = 0 only the two sides of the condition depend on γ, and their ratio increases with γ.
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
