/**
 * ERM-ℓ2 (Section 4): min_w E ℓ(y f_w(x)) + λ/2 ‖w‖², solved exactly in its two-parameter form.
 *
 * The objective is strictly convex and invariant under permutations of features of the same kind, so the minimizer has
 * one weight α for every invariant feature and one weight β for every spurious one (Lemma 1 (1)(2)). On a given support
 * of `a` invariant and `b` spurious features this also solves the subproblems of the rank-bounded problem.
 */

import { type Group, INVARIANT } from "./distributions.js";
import { lossDerivatives } from "./expectation.js";
import { newton, type SecondOrder } from "./newton.js";

/** The numbers of features of a support, the spurious correlation and the weight of λ/2‖w‖². */
export interface L2Problem {
  readonly invariant: number;
  readonly spurious: number;
  readonly gamma: number;
  readonly lambda: number;
}

/** A two-group solution with weight α on each invariant feature and β on each spurious one. */
export interface TwoWeights {
  readonly alpha: number;
  readonly beta: number;
}

/** The minimizer with its objective value and the precision of the stationarity condition. */
export interface L2Solution extends TwoWeights {
  /** E ℓ + λ/2‖w‖². */
  readonly value: number;
  /** E ℓ alone. */
  readonly loss: number;
  /** The largest |∂/∂w_j| relative to λ·α, which is zero up to rounding. */
  readonly stationarity: number;
  readonly steps: number;
}

/** Returns the groups of a two-weight solution in domain (γ) or out of domain (−γ). */
export function twoGroups(
  counts: { invariant: number; spurious: number },
  weights: TwoWeights,
  gamma: number,
): [Group, Group] {
  return [
    { gamma: INVARIANT, weight: weights.alpha, count: counts.invariant },
    { gamma, weight: weights.beta, count: counts.spurious },
  ];
}

/** Solves ERM-ℓ2 on a support of `invariant` + `spurious` features. */
export function solveL2(problem: L2Problem): L2Solution {
  const { invariant, spurious, gamma, lambda } = problem;
  if (invariant + spurious === 0) {
    return { alpha: 0, beta: 0, value: Math.LN2, loss: Math.LN2, stationarity: 0, steps: 0 };
  }
  const objective = (alpha: number, beta: number): SecondOrder => {
    const { loss, gradient, hessian } = lossDerivatives(...twoGroups(problem, { alpha, beta }, gamma));
    return {
      value: loss + (lambda / 2) * (invariant * alpha * alpha + spurious * beta * beta),
      gradient: [gradient[0] + lambda * invariant * alpha, gradient[1] + lambda * spurious * beta],
      hessian: [hessian[0] + lambda * invariant, hessian[1], hessian[2] + lambda * spurious],
    };
  };
  // One Newton step from w = 0, where all expectations are known, gives an initial point of the right scale for every
  // λ.
  const strength = 0.5 / (lambda + 0.25 * (invariant / 4 + spurious * gamma * gamma + 1 / 3));
  const { at, value, steps } = newton(
    objective,
    [invariant > 0 ? strength / 2 : 0, spurious > 0 ? strength * gamma : 0],
    [invariant === 0, spurious === 0],
  );
  const [alpha, beta] = at;
  const { gradient } = objective(alpha, beta);
  const perFeature = [invariant > 0 ? gradient[0] / invariant : 0, spurious > 0 ? gradient[1] / spurious : 0];
  return {
    alpha,
    beta,
    value,
    loss: value - (lambda / 2) * (invariant * alpha * alpha + spurious * beta * beta),
    stationarity: Math.max(...perFeature.map(Math.abs)) / (lambda * Math.max(alpha, beta)),
    steps,
  };
}
