/**
 * Lemma 1 (3), the proof of α/β < 3/(4γ): each inequality of the chain, and the three parts of the second one.
 *
 * The second inequality drops αz_k + βz_l from the margin in the numerator and where z_l < 0, as if the sum could not
 * be negative. The last part is false if α/β < 4/3, which is about γ > 3/8. The slack of the part with z_l ≥ 0
 * compensates for it.
 */

import { scale } from "../complex.js";
import { type Group, INVARIANT, negativePart, positivePart, uniformMoment } from "../distributions.js";
import { expectation } from "../expectation.js";
import type { CheckInput } from "./check.js";
import type { Lemma1Input } from "./lemma-1.js";

/** Returns the lines of the chain. */
export function ratioChain({ setting, conditions, optimum }: Omit<Lemma1Input, "descent">): CheckInput[] {
  const { r, d, gamma } = setting;
  const { alpha, beta } = optimum;
  const { gammaLarge, gammaSmall, lambdaLarge } = conditions;
  const p = 0.5 + gamma;
  const q = 0.5 - gamma;
  // Z is the margin without one invariant feature z_k and one spurious feature z_l.
  const rest: Group[] = [
    { gamma: INVARIANT, weight: alpha, count: r - 1 },
    { gamma, weight: beta, count: d - r - 1 },
  ];
  const oneSpurious: Group = { gamma, weight: beta, count: 1 };
  const oneInvariant: Group = { gamma: INVARIANT, weight: alpha, count: 1 };
  const slopeZ = expectation("slope", rest);
  const slopeShifted = expectation("slope", rest, { shift: 2 * alpha });
  const numerator = expectation("slope", [...rest, oneSpurious], {
    factor: (minusU) => uniformMoment(1, scale(minusU, alpha)),
  });
  const positive = expectation("slope", [...rest, oneInvariant], {
    factor: (minusU) => positivePart(gamma, 1, scale(minusU, beta)),
  });
  const negative = -expectation("slope", [...rest, oneInvariant], {
    factor: (minusU) => negativePart(gamma, 1, scale(minusU, beta)),
  });
  const afterDrop = slopeZ / (slopeShifted * p - slopeZ * q);
  const afterDecay = 1 / (Math.exp(-2 * alpha) * p - q);
  const root = 2 / Math.sqrt(r);
  const afterRoot = 1 / (Math.exp(-root) * p - q);
  const afterHalf = 1 / (2 * gamma - (1 - Math.exp(-root)));
  const afterLinear = 1 / (2 * gamma - root);
  const all = [gammaLarge, gammaSmall, lambdaLarge];
  return [
    {
      id: "ratio-stationary",
      statement: "α/β = E[−ℓ′ z_k] / E[−ℓ′ z_l]",
      left: alpha / beta,
      relation: "=",
      right: numerator / (positive - negative),
      tolerance: 1e-8,
    },
    {
      id: "ratio-numerator",
      statement: "dropping αz_k + βz_l above: E[−ℓ′ z_k] ≤ ½E[−ℓ′(Z)]",
      left: numerator,
      relation: "≤",
      right: slopeZ / 2,
      note: "not true pointwise, for αz_k + βz_l may be negative; the proof gives no other reason",
    },
    {
      id: "ratio-positive-part",
      statement: "below, z_l ≥ 0: E[−ℓ′ z_l; z_l ≥ 0] ≥ ½(½+γ)E[−ℓ′(Z + 2α)]",
      left: positive,
      relation: "≥",
      right: (slopeShifted * p) / 2,
      needs: [gammaSmall],
    },
    {
      id: "ratio-negative-part",
      statement: "below, z_l < 0: E[−ℓ′ |z_l|; z_l < 0] ≤ ½(½−γ)E[−ℓ′(Z)]",
      left: negative,
      relation: "≤",
      right: (slopeZ * q) / 2,
      note: "the proof drops αz_k + βz_l, whose mean here is α/2 − 2β/3: negative when α/β < 4/3",
    },
    {
      id: "ratio-step-1",
      statement: "together: α/β ≤ E[−ℓ′(Z)] / (E[−ℓ′(Z+2α)](½+γ) − E[−ℓ′(Z)](½−γ))",
      left: alpha / beta,
      relation: "≤",
      right: positiveOr(afterDrop),
      needs: all,
    },
    {
      id: "ratio-step-2",
      statement: "… ≤ 1 / (e^{−2α}(½+γ) − (½−γ))",
      left: positiveOr(afterDrop),
      relation: "≤",
      right: positiveOr(afterDecay),
      needs: all,
    },
    {
      id: "ratio-step-3",
      statement: "… ≤ 1 / (e^{−2/√r}(½+γ) − (½−γ))",
      left: positiveOr(afterDecay),
      relation: "≤",
      right: positiveOr(afterRoot),
      needs: all,
    },
    {
      id: "ratio-step-4",
      statement: "… ≤ 1 / (2γ − (1 − e^{−2/√r}))",
      left: positiveOr(afterRoot),
      relation: "≤",
      right: positiveOr(afterHalf),
      needs: all,
    },
    {
      id: "ratio-step-5",
      statement: "… ≤ 1 / (2γ − 2/√r)",
      left: positiveOr(afterHalf),
      relation: "≤",
      right: positiveOr(afterLinear),
      needs: all,
    },
    {
      id: "ratio-step-6",
      statement: "… < 3/(4γ)",
      left: positiveOr(afterLinear),
      relation: "<",
      right: 3 / (4 * gamma),
      needs: all,
    },
  ];
}

/** A bound 1/x with x ≤ 0 is no bound, so it returns +∞. */
function positiveOr(bound: number): number {
  return bound > 0 ? bound : Number.POSITIVE_INFINITY;
}
