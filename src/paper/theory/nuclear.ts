/**
 * The paper's penalty on the theoretical model: min_w E ℓ + λ‖C^{1/2} diag(w)‖_*, C = E[z̃ z̃ᵀ].
 *
 * A batch of n embeddings is F = Z̃ diag(w), so n^{−1/2}‖F‖_* tends to ‖C^{1/2} diag(w)‖_*. The paper's λ‖F‖_* on a
 * batch is this penalty with √n·λ, and the official code's (θ/n)‖F‖_* is this penalty with θ/√n. C = diag(Var z) + μμᵀ
 * with μ = (½, …, γ, …). The penalty is convex in w and invariant under permutations of features of the same kind, so
 * the (unique) minimizer again has two weights. The spectrum of diag(w) C diag(w) is explicit: α²/12 (r − 1 times), β²v
 * (m − 1 times; m = d − r, v = 1/3 − γ²) and the eigenvalues of
 *
 *     [ α²(1/12 + r/4)      αβ γ√(rm)/2   ]
 *     [ αβ γ√(rm)/2         β²(v + mγ²)   ]
 *
 * whose square roots sum to √(trace + 2√det). The nuclear norm is the sum of the square roots of all eigenvalues.
 */

import { INVARIANT, variance } from "./distributions.js";
import { type TwoWeights, twoGroups } from "./erm-l2.js";
import { expectation, lossDerivatives } from "./expectation.js";
import { newton, type SecondOrder } from "./newton.js";

/** The model and the weight of the penalty. */
export interface NuclearProblem {
  readonly r: number;
  readonly d: number;
  readonly gamma: number;
  readonly lambda: number;
}

/** The closed form ‖C^{1/2} diag(w)‖_* = invariant·|α| + spurious·|β| + √(Aα² + 2D|αβ| + Bβ²). */
export interface PenaltyForm {
  readonly invariant: number;
  readonly spurious: number;
  readonly a: number;
  readonly b: number;
  readonly cross: number;
}

/** Returns the coefficients of the penalty's closed form. */
export function penaltyForm({ r, d, gamma }: Omit<NuclearProblem, "lambda">): PenaltyForm {
  const m = d - r;
  const v = variance(gamma);
  return {
    invariant: (r - 1) * Math.sqrt(variance(INVARIANT)),
    spurious: (m - 1) * Math.sqrt(v),
    a: 1 / 12 + r / 4,
    b: v + m * gamma * gamma,
    cross: Math.sqrt(v / 12 + (m * gamma * gamma) / 12 + (r * v) / 4),
  };
}

/** Returns ‖C^{1/2} diag(w)‖_* of two-group weights. */
export function nuclearPenalty(form: PenaltyForm, { alpha, beta }: TwoWeights): number {
  const x = Math.abs(alpha);
  const y = Math.abs(beta);
  return form.invariant * x + form.spurious * y + Math.sqrt(form.a * x * x + 2 * form.cross * x * y + form.b * y * y);
}

/** ∂(penalty)/∂α for β = 0. */
export function invariantResistance(form: PenaltyForm): number {
  return form.invariant + Math.sqrt(form.a);
}

/** ∂(penalty)/∂β at β = 0⁺ with α > 0, which does not depend on α. */
export function spuriousResistance(form: PenaltyForm): number {
  return form.spurious + form.cross / Math.sqrt(form.a);
}

/** The features that a solution uses. */
export type Support = "none" | "invariant" | "spurious" | "both";

/** The minimizer of E ℓ + λ‖C^{1/2} diag(w)‖_*. */
export interface NuclearSolution extends TwoWeights {
  readonly support: Support;
  readonly value: number;
  readonly loss: number;
  readonly penalty: number;
  /** The λ from which on the minimizer is w = 0. */
  readonly lambdaMax: number;
  /**
   * At the minimizer over the invariant features alone: the loss's gradient for the spurious group divided by that of
   * the penalty. Up to 1 the spurious weights are exactly zero.
   */
  readonly pull: number;
}

/** Solves E ℓ + λ‖C^{1/2} diag(w)‖_*. Zeros are exact and determined by the subgradient condition. */
export function solveNuclear(problem: NuclearProblem): NuclearSolution {
  const { lambda } = problem;
  const form = penaltyForm(problem);
  const lambdaMax = largestUsefulLambda(problem, form);
  const make = (support: Support, weights: TwoWeights, pull: number): NuclearSolution => {
    const loss = support === "none" ? Math.LN2 : lossDerivatives(...groupsOf(problem, weights)).loss;
    const penalty = nuclearPenalty(form, weights);
    return { ...weights, support, value: loss + lambda * penalty, loss, penalty, lambdaMax, pull };
  };

  const alphaAlone = solveInvariantOnly(problem, form);
  const pull = spuriousPull(problem, form, alphaAlone);
  if (lambda >= lambdaMax) return make("none", { alpha: 0, beta: 0 }, pull);
  if (alphaAlone > 0 && pull <= 1) return make("invariant", { alpha: alphaAlone, beta: 0 }, pull);

  const betaAlone = solveSpuriousOnly(problem, form);
  if (betaAlone > 0 && invariantPull(problem, form, betaAlone) <= 1) {
    return make("spurious", { alpha: 0, beta: betaAlone }, pull);
  }
  const start = alphaAlone > 0 ? alphaAlone : 1e-3;
  const { at } = newton((alpha, beta) => objective(problem, form, { alpha, beta }), [start, start / 10]);
  return make("both", { alpha: at[0], beta: at[1] }, pull);
}

function groupsOf({ r, d, gamma }: Omit<NuclearProblem, "lambda">, weights: TwoWeights) {
  return twoGroups({ invariant: r, spurious: d - r }, weights, gamma);
}

/** The objective with derivatives for α, β ≥ 0 that are not both zero. On an axis, the derivatives are one-sided. */
function objective(problem: NuclearProblem, form: PenaltyForm, weights: TwoWeights): SecondOrder {
  const { lambda } = problem;
  const { alpha, beta } = weights;
  const { loss, gradient, hessian } = lossDerivatives(...groupsOf(problem, weights));
  const root = Math.sqrt(form.a * alpha ** 2 + 2 * form.cross * alpha * beta + form.b * beta ** 2);
  const byAlpha = (form.a * alpha + form.cross * beta) / root;
  const byBeta = (form.cross * alpha + form.b * beta) / root;
  return {
    value: loss + lambda * (form.invariant * alpha + form.spurious * beta + root),
    gradient: [gradient[0] + lambda * (form.invariant + byAlpha), gradient[1] + lambda * (form.spurious + byBeta)],
    hessian: [
      hessian[0] + (lambda * (form.a - byAlpha * byAlpha)) / root,
      hessian[1] + (lambda * (form.cross - byAlpha * byBeta)) / root,
      hessian[2] + (lambda * (form.b - byBeta * byBeta)) / root,
    ],
  };
}

/** Returns the best α for β = 0, or 0 if the penalty outweighs every gain. */
export function solveInvariantOnly(problem: NuclearProblem, form: PenaltyForm): number {
  if (problem.lambda * invariantResistance(form) >= problem.r / 4) return 0; // the slope of E ℓ at 0 is −½·r·½
  const f = (alpha: number, beta: number) => objective(problem, form, { alpha, beta });
  return newton(f, [1e-3, 0], [false, true]).at[0];
}

/** Returns the best β for α = 0, or 0. */
function solveSpuriousOnly(problem: NuclearProblem, form: PenaltyForm): number {
  const m = problem.d - problem.r;
  if (problem.lambda * (form.spurious + Math.sqrt(form.b)) >= (m * problem.gamma) / 2) return 0;
  const f = (alpha: number, beta: number) => objective(problem, form, { alpha, beta });
  return newton(f, [0, 1e-3], [true, false]).at[1];
}

/** −∂(E ℓ)/∂β over λ∂(penalty)/∂β at (α, 0⁺). */
function spuriousPull(problem: NuclearProblem, form: PenaltyForm, alpha: number): number {
  const slope = expectation("slope", [{ gamma: INVARIANT, weight: alpha, count: problem.r }]);
  return ((problem.d - problem.r) * problem.gamma * slope) / (problem.lambda * spuriousResistance(form));
}

/** −∂(E ℓ)/∂α over λ∂(penalty)/∂α at (0⁺, β). */
function invariantPull(problem: NuclearProblem, form: PenaltyForm, beta: number): number {
  const slope = expectation("slope", [{ gamma: problem.gamma, weight: beta, count: problem.d - problem.r }]);
  const resistance = form.invariant + form.cross / Math.sqrt(form.b);
  return (problem.r * 0.5 * slope) / (problem.lambda * resistance);
}

/** Returns the λ from which on w = 0 is optimal: the largest gain per unit of penalty over all directions at w = 0. */
export function largestUsefulLambda({ r, d, gamma }: NuclearProblem, form: PenaltyForm): number {
  const ratio = (s: number) =>
    (0.5 * ((r / 2) * (1 - s) + (d - r) * gamma * s)) / nuclearPenalty(form, { alpha: 1 - s, beta: s });
  // A linear function over a convex one has a single peak, found by golden-section search together with the two ends.
  let low = 0;
  let high = 1;
  const golden = (Math.sqrt(5) - 1) / 2;
  for (let i = 0; i < 90; i++) {
    const a = high - golden * (high - low);
    const b = low + golden * (high - low);
    if (ratio(a) > ratio(b)) high = b;
    else low = a;
  }
  return Math.max(ratio(0), ratio(1), ratio((low + high) / 2));
}
