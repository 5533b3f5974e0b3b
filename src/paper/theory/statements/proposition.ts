/** The Proposition: 100 % against at most exp(−r/10) out of domain, with each inequality of the final chain. */

import { INVARIANT } from "../distributions.js";
import type { L2Solution } from "../erm-l2.js";
import { twoGroups } from "../erm-l2.js";
import type { RankSolution } from "../erm-rank.js";
import type { Setting } from "../setting.js";
import { type Probability, upperTail } from "../tail.js";
import { type Check, checksOf } from "./check.js";
import type { Conditions } from "./conditions.js";

/** The input for checking the Proposition. */
export interface PropositionInput {
  readonly setting: Setting;
  readonly conditions: Conditions;
  readonly l2: L2Solution;
  readonly rank: RankSolution;
}

/** Returns all lines of the Proposition. */
export function checkProposition({ setting, conditions, l2, rank }: PropositionInput): Check[] {
  const { r, d, gamma } = setting;
  const m = d - r;
  const { gammaLarge, gammaSmall, rLarge, lambdaLarge, dLarge, rankSmall } = conditions;
  const forL2 = [gammaLarge, gammaSmall, rLarge, lambdaLarge, dLarge];
  const forChain = [gammaLarge, gammaSmall, dLarge];
  const accuracy: Probability = upperTail(twoGroups({ invariant: r, spurious: m }, l2, -gamma));
  const rankAccuracy = upperTail(twoGroups(rank, rank, -gamma));
  const worst = 3 / (4 * gamma);
  const atBound = upperTail([
    { gamma: INVARIANT, weight: worst, count: r },
    { gamma: -gamma, weight: 1, count: m },
  ]);
  const margin = m * gamma - (3 * r) / (8 * gamma);
  // Σ (range)² of the summands: the range is 3/(4γ) for each invariant feature and 2 for each spurious one.
  const ranges = r * worst * worst + 4 * m;
  const log10 = (exponent: number) => exponent / Math.LN10;
  const asWritten = log10((-2 * margin * margin) / (4 * d));
  const expanded = log10(-((9 * r * r) / (32 * gamma * gamma) + 2 * m * m * gamma * gamma - (3 * r * m) / 2) / (4 * d));
  const overFive = log10(-(2 * m * m * gamma * gamma - (3 * r * m) / 2) / (5 * m));
  const simplified = log10(-(4 * m * gamma * gamma - 3 * r) / 10);
  const claimed = log10(-r / 10);
  const trueRanges = log10((-2 * margin * margin) / ranges);
  return [
    ...checksOf("Proposition", [
      {
        id: "rank-accuracy",
        statement: "ERM-rank is 100 % accurate out of domain",
        left: rankAccuracy.value,
        relation: "=",
        right: 1,
        needs: [rankSmall, gammaSmall],
      },
      {
        id: "l2-accuracy",
        statement: "ERM-ℓ2 is at most exp(−r/10) accurate out of domain",
        left: accuracy.log10,
        relation: "≤",
        right: claimed,
        log10: true,
        needs: forL2,
      },
    ]),
    ...checksOf("Proposition, final chain", [
      {
        id: "chain-ratio",
        statement: "P[αΣ_R + βΣ_U ≥ 0] ≤ P[3/(4γ) Σ_R + Σ_U ≥ 0]",
        left: accuracy.log10,
        relation: "≤",
        right: atBound.log10,
        log10: true,
        needs: forL2,
      },
      {
        id: "chain-margin",
        statement: "the threshold is positive: (d−r)γ − 3r/(8γ) > 0",
        left: margin,
        relation: ">",
        right: 0,
        needs: forChain,
      },
      {
        id: "chain-ranges",
        statement: "Hoeffding's step with 4d needs Σ(range)² = 9r/(16γ²) + 4(d−r) ≤ 4d, that is γ ≥ 3/8",
        left: ranges,
        relation: "≤",
        right: 4 * d,
        needs: forChain,
        note: "γ ≥ 3/8 is not among the paper's assumptions",
      },
      {
        id: "chain-hoeffding",
        statement: "P[3/(4γ) Σ_R + Σ_U ≥ 0] ≤ exp(−2((d−r)γ − 3r/(8γ))² / (4d))",
        left: atBound.log10,
        relation: "≤",
        right: asWritten,
        log10: true,
        needs: forChain,
      },
      {
        id: "chain-expand",
        statement: "expanding the square",
        left: asWritten,
        relation: "=",
        right: expanded,
        log10: true,
      },
      {
        id: "chain-dimension",
        statement: "d > 5r",
        left: d,
        relation: ">",
        right: 5 * r,
        needs: forChain,
      },
      {
        id: "chain-five",
        statement: "… ≤ exp(−(2(d−r)²γ² − 3r(d−r)/2) / (5(d−r)))",
        left: expanded,
        relation: "≤",
        right: overFive,
        log10: true,
        needs: forChain,
      },
      {
        id: "chain-simplify",
        statement: "… = exp(−(4(d−r)γ² − 3r)/10)",
        left: overFive,
        relation: "=",
        right: simplified,
        log10: true,
        tolerance: 1e-9,
      },
      {
        id: "chain-end",
        statement: "… ≤ exp(−r/10)",
        left: simplified,
        relation: "≤",
        right: claimed,
        log10: true,
        needs: forChain,
      },
    ]),
    ...checksOf("Proposition, the chain mended (not in the paper)", [
      {
        id: "mended-hoeffding",
        statement: "P[3/(4γ) Σ_R + Σ_U ≥ 0] ≤ exp(−2((d−r)γ − 3r/(8γ))² / Σ(range)²), for every γ",
        left: atBound.log10,
        relation: "≤",
        right: trueRanges,
        log10: true,
        needs: forChain,
      },
      {
        id: "mended-end",
        statement: "… ≤ exp(−0.171 r), which is below exp(−r/10)",
        left: trueRanges,
        relation: "≤",
        right: log10(-0.171 * r),
        log10: true,
        needs: forChain,
        note: "(d−r)γ² > r gives Σ(range)² < (73/16)(d−r) and a threshold above (5/8)(d−r)γ, so an exponent above (25/146) r",
      },
    ]),
  ];
}
