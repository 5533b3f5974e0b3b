import { expect, test } from "vitest";
import { intervalPoints, pText, signedPoints } from "./signed-points.js";

test("a difference has the digit that shows its side of zero", () => {
  expect([0.0192, -0.0004, 0.0004, -0.0000312, 0].map((value) => signedPoints(value))).toEqual([
    ...["+1.9", "-0.04", "+0.04", "-0.003", "0.0"],
  ]);
  expect(intervalPoints([-0.00041, 0.0381])).toBe("-0.04 … +3.8");
  expect(intervalPoints(null)).toBe("–");
});

test("a rounding error is zero, and what is no number stays none", () => {
  expect([1e-17, -1e-17, Number.NaN].map((value) => signedPoints(value))).toEqual(["0.0", "0.0", "nan"]);
});

test("the end of an interval has the digit that shows whether it is inside a margin", () => {
  const margin = { decimals: 2, margin: 0.005 };
  expect(intervalPoints([-0.00496, 0.0049999], margin)).toBe("-0.496 … +0.49999");
});

test("a p-value has the digit that shows whether it is significant", () => {
  expect([0.04996, 0.05, 0.0311, 0.0001, null].map(pText)).toEqual(["0.04996", "0.050", "0.031", "<0.001", "–"]);
});
