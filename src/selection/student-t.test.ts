import { expect, test } from "vitest";
import { criticalT, withinT } from "./student-t.js";

/** From SciPy 1.17: `stats.t.ppf((1 + level) / 2, df)`. */
const QUANTILES: readonly (readonly [df: number, at95: number, at90: number])[] = [
  [1, 12.706204736, 6.313751515],
  [2, 4.30265273, 2.91998558],
  [3, 3.182446305, 2.353363435],
  [4, 2.776445105, 2.131846786],
  [9, 2.262157163, 1.833112933],
  [19, 2.093024054, 1.729132812],
];

test.each(QUANTILES)("with %i degrees of freedom the critical values are SciPy's", (df, at95, at90) => {
  expect(criticalT(0.95, df)).toBeCloseTo(at95, 7);
  expect(criticalT(0.9, df)).toBeCloseTo(at90, 7);
});

test("the probability within t is SciPy's, for either sign", () => {
  // 2 * stats.t.sf(2.5, df)
  const outside = { 1: 0.24223788318168682, 2: 0.12961172022151082, 9: 0.033861827682985735, 19: 0.02174041116839744 };
  for (const [df, p] of Object.entries(outside)) {
    expect(1 - withinT(2.5, Number(df))).toBeCloseTo(p, 12);
    expect(withinT(-2.5, Number(df))).toBe(withinT(2.5, Number(df)));
  }
});

test("the two are inverse to each other, and with many degrees of freedom t is normal", () => {
  for (const df of [1, 2, 5, 10, 99]) expect(withinT(criticalT(0.8, df), df)).toBeCloseTo(0.8, 12);
  expect(criticalT(0.95, 100_000)).toBeCloseTo(1.959988, 5);
});
