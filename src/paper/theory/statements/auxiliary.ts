/**
 * The auxiliary lemmas of the appendix: the logistic loss, the gradient, the feature distributions, the two tail
 * bounds.
 */

import { scale } from "../complex.js";
import { density, INVARIANT, mean, tiltedMoment, variance } from "../distributions.js";
import type { TwoWeights } from "../erm-l2.js";
import { expectation, logisticCurvature, logisticLoss, logisticSlope } from "../expectation.js";
import type { Setting } from "../setting.js";
import { upperTail } from "../tail.js";
import { type Check, checksOf } from "./check.js";

/** Returns all lines of the auxiliary lemmas. */
export function checkAuxiliary(setting: Setting, weights: TwoWeights): Check[] {
  return [...checkLogisticLoss(), ...checkGradient(setting, weights), ...checkMoments(setting), ...checkTails(setting)];
}

/** A grid that is wide enough that ℓ is 1e-13 at its end, while differences of ℓ′ are still representable. */
const GRID = Array.from({ length: 1201 }, (_, i) => -30 + i / 20);

function checkLogisticLoss(): Check[] {
  const negativeSlope = GRID.map(logisticSlope);
  const byDifference = GRID.map((z) => (logisticLoss(z + 1e-4) - logisticLoss(z - 1e-4)) / 2e-4);
  const secondDifferences = GRID.filter((z) => z > 0).map(
    (z) => -(logisticSlope(z + 0.05) - 2 * logisticSlope(z) + logisticSlope(z - 0.05)),
  );
  const ratios = [0.01, 0.1, 0.5, 1, 2, 5, 10].flatMap((c) =>
    GRID.map((z) => (Math.exp(c) * logisticSlope(z + c)) / logisticSlope(z)),
  );
  return checksOf("Auxiliary lemma: logistic loss", [
    {
      id: "loss-decreasing",
      statement: "(1) ℓ strictly decreasing: the largest ℓ′ on [−30, 30]",
      left: Math.max(...negativeSlope.map((s) => -s)),
      relation: "<",
      right: 0,
    },
    {
      id: "loss-convex",
      statement: "(1) ℓ convex: the smallest ℓ″ on [−30, 30]",
      left: Math.min(...GRID.map(logisticCurvature)),
      relation: ">",
      right: 0,
    },
    {
      id: "loss-positive",
      statement: "(1) ℓ > 0: the smallest ℓ on [−30, 30]",
      left: Math.min(...GRID.map(logisticLoss)),
      relation: ">",
      right: 0,
    },
    {
      id: "loss-derivative",
      statement: "(2) ℓ′(z) = −1/(1 + e^z): the largest difference from (ℓ(z+h) − ℓ(z−h))/2h, h = 1e-4",
      left: Math.max(...byDifference.map((value, i) => Math.abs(value + negativeSlope[i]))),
      relation: "≤",
      right: 1e-8,
    },
    {
      id: "loss-derivative-range",
      statement: "(2) ℓ′ ∈ (−1, 0): the smallest 1 + ℓ′ on [−30, 30]",
      left: Math.min(...GRID.map((z) => logisticSlope(-z))), // 1 + ℓ′(z) = −ℓ′(−z), without cancellation
      relation: ">",
      right: 0,
    },
    {
      id: "loss-derivative-concave",
      statement: "(3) ℓ′ strictly concave on [0, ∞): the largest second difference of ℓ′ on (0, 30]",
      left: Math.max(...secondDifferences),
      relation: "<",
      right: 0,
    },
    {
      id: "loss-derivative-decay",
      statement: "(4) ℓ′(z + c) ≤ e^{−c} ℓ′(z): the smallest e^c ℓ′(z+c)/ℓ′(z), c from 0.01 to 10",
      left: Math.min(...ratios),
      relation: "≥",
      right: 1,
    },
  ]);
}

/** ∂E ℓ/∂w_j = E[ℓ′ z_j], at half the optimum so that nothing vanishes there, with a single weight perturbed. */
function checkGradient({ r, d, gamma }: Setting, optimum: TwoWeights): Check[] {
  const alpha = optimum.alpha / 2;
  const beta = optimum.beta / 2;
  const step = 1e-3 * alpha;
  const inputs = [
    { kind: "R", gamma: INVARIANT, weight: alpha },
    { kind: "U", gamma, weight: beta },
  ].map(({ kind, gamma: own, weight }) => {
    const rest = [
      { gamma: INVARIANT, weight: alpha, count: kind === "R" ? r - 1 : r },
      { gamma, weight: beta, count: kind === "U" ? d - r - 1 : d - r },
    ];
    const lossAt = (w: number) => expectation("loss", [...rest, { gamma: own, weight: w, count: 1 }]);
    return {
      id: `gradient-${kind === "R" ? "invariant" : "spurious"}`,
      statement: `∂E ℓ/∂w_j = E[ℓ′(y f) z_j] for j ∈ ${kind}, against a difference quotient`,
      left: -expectation("slope", rest, { factor: (minusU) => tiltedMoment(own, 1, scale(minusU, weight)) }),
      relation: "=" as const,
      right: (lossAt(weight + step) - lossAt(weight - step)) / (2 * step),
      tolerance: 1e-6,
    };
  });
  return checksOf("Auxiliary lemma: gradient", inputs);
}

/**
 * Nodes and weights of the three-point Gauss–Legendre rule on [0, 1], which is exact for the squares integrated here.
 */
const NODES = [0.5 - Math.sqrt(0.15), 0.5, 0.5 + Math.sqrt(0.15)];
const WEIGHTS = [5 / 18, 8 / 18, 5 / 18];

/** ∫ g(z) density(z) dz, separately for each side of zero. */
function integrateDensity(gamma: number, g: (z: number) => number): number {
  return NODES.reduce(
    (sum, node, i) => sum + WEIGHTS[i] * (g(node) * density(gamma, node) + g(node - 1) * density(gamma, node - 1)),
    0,
  );
}

function checkMoments({ gamma }: Setting): Check[] {
  const of = (own: number) => {
    const average = integrateDensity(own, (z) => z);
    return { average, spread: integrateDensity(own, (z) => (z - average) ** 2) };
  };
  const line = (id: string, statement: string, left: number, right: number) => ({
    id,
    statement,
    left,
    relation: "=" as const,
    right,
  });
  return checksOf("Auxiliary lemma: distributions", [
    line("mean-invariant", "E z_j = ½ for j ∈ R, integrating the density", of(INVARIANT).average, 0.5),
    line("variance-invariant", "Var z_j = 1/12 for j ∈ R", of(INVARIANT).spread, 1 / 12),
    line("mean-spurious", "E z_j = γ for j ∈ U", of(gamma).average, mean(gamma)),
    line("variance-spurious", "Var z_j = 1/3 − γ² for j ∈ U", of(gamma).spread, variance(gamma)),
  ]);
}

function checkTails({ r, d, gamma }: Setting): Check[] {
  const spurious = upperTail([{ gamma, weight: 1, count: d - r }], 0);
  const invariant = upperTail([{ gamma: INVARIANT, weight: 1, count: r }], r / 4);
  return checksOf("Auxiliary lemma: tail bounds", [
    {
      id: "tail-spurious",
      statement: "P[Σ_U z_j ≤ 0] ≤ exp(−(d−r)γ²/2)",
      left: spurious.log10Complement,
      relation: "≤",
      right: (-(d - r) * gamma * gamma) / 2 / Math.LN10,
      log10: true,
    },
    {
      id: "tail-invariant",
      statement: "P[Σ_R z_j ≤ r/4] ≤ exp(−r/8)",
      left: invariant.log10Complement,
      relation: "≤",
      right: -r / 8 / Math.LN10,
      log10: true,
    },
  ]);
}
