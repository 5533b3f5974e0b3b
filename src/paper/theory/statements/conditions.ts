/** The assumptions of Section 4, decided exactly on the decimals as entered, and their consequences. */

import { compare, overSquare, type Rational, rational } from "../decimal.js";
import type { Setting } from "../setting.js";
import { type Check, type Condition, checksOf } from "./check.js";

/** The conditions by name. */
export interface Conditions {
  /** γ > 3/√r. */
  readonly gammaLarge: Condition;
  /** γ < ½. */
  readonly gammaSmall: Condition;
  /** r > C, C "some constant < 20". */
  readonly rLarge: Condition;
  /** λ ≥ λ₀. */
  readonly lambdaLarge: Condition;
  /** d > r/γ² + r. */
  readonly dLarge: Condition;
  /** B_rank ≤ r (it is at least 1). */
  readonly rankSmall: Condition;
}

/** Tests every assumption of the Proposition. */
export function testConditions(setting: Setting): Conditions {
  const { r, d, gamma, exactGamma, lambda, lambda0, bRank } = setting;
  const overGamma = overSquare(r, exactGamma);
  const needed: Rational = {
    numerator: overGamma.numerator + BigInt(r) * overGamma.denominator,
    denominator: overGamma.denominator,
  };
  return {
    gammaLarge: {
      id: "gamma-large",
      statement: "γ > 3/√r",
      left: gamma,
      relation: ">",
      right: 3 / Math.sqrt(r),
      met: gammaAboveThreeOverRoot(r, exactGamma),
      ...(admitsGamma(r) ? {} : { note: `no γ is admissible for r = ${r}: 3/√r is not below ½ until r = 37` }),
    },
    gammaSmall: {
      id: "gamma-small",
      statement: "γ < ½",
      left: gamma,
      relation: "<",
      right: 0.5,
      met: compare(exactGamma, rational(1, 2)) < 0,
    },
    rLarge: {
      id: "r-large",
      statement: "r > C for some C < 20; r ≥ 20 is enough for any such C",
      left: r,
      relation: "≥",
      right: 20,
      met: r >= 20,
    },
    lambdaLarge: {
      id: "lambda-large",
      statement: "λ ≥ λ₀, where the proof's own terms begin to suffice (stated: λ > Ω(√r e^{−√r/5}))",
      left: lambda,
      relation: "≥",
      right: lambda0,
      met: lambda >= lambda0,
    },
    dLarge: {
      id: "d-large",
      statement: "d > r/γ² + r",
      left: d,
      relation: ">",
      right: Number(needed.numerator) / Number(needed.denominator),
      met: compare(rational(d), needed) > 0,
    },
    rankSmall: { id: "rank-small", statement: "1 ≤ B_rank ≤ r", left: bRank, relation: "≤", right: r, met: bRank <= r },
  };
}

/** γ > 3/√r, computed as γ²·r > 9. */
function gammaAboveThreeOverRoot(r: number, gamma: Rational): boolean {
  return gamma.numerator ** 2n * BigInt(r) > 9n * gamma.denominator ** 2n;
}

/** Returns whether some γ satisfies 3/√r < γ < ½, that is, whether 36 < r. */
export function admitsGamma(r: number): boolean {
  return gammaAboveThreeOverRoot(r, rational(1, 2));
}

/** Checks statements about the assumptions themselves. */
export function checkConditions(): Check[] {
  let smallest = 1;
  while (!admitsGamma(smallest)) smallest++;
  return checksOf("the assumptions together", [
    {
      id: "room-for-gamma",
      statement: "r > C with C < 20 leaves room for γ: the smallest r with a γ in (3/√r, ½) is at most 20",
      left: smallest,
      relation: "≤",
      right: 20,
      note: "for r from 20 to 36 the Proposition is about no γ at all, so its C is in effect 36",
    },
  ]);
}
