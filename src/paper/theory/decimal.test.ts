import { expect, test } from "vitest";
import { UsageError } from "../../errors.js";
import { compare, overSquare, parseDecimal, rational, smallestDimension } from "./decimal.js";

test("a decimal is read as typed, however it is written", () => {
  for (const text of ["0.4", ".4", "0.40", "4e-1", "+0.4", "40E-2"]) {
    expect(compare(parseDecimal(text, "gamma"), rational(2, 5)), text).toBe(0);
  }
  expect(compare(parseDecimal(0.1, "gamma"), rational(1, 10))).toBe(0);
  expect(parseDecimal("-1.5e2", "x")).toEqual({ numerator: -150n, denominator: 1n });
});

test("text that is not a decimal number is refused by name", () => {
  for (const text of ["", "0,4", "four", "0.4.1", "Infinity", "1e9999", "."]) {
    expect(() => parseDecimal(text, "gamma"), text).toThrow(UsageError);
  }
  expect(() => parseDecimal("x", "gamma")).toThrow('gamma: expected a decimal number such as 0.4, got "x"');
});

test("the default dimension does not suffer from binary fractions", () => {
  // In binary 64/(0.4·0.4) is 399.99999999999994, which would make d = 464: not above r/γ² + r.
  expect(Math.floor(64 / (0.4 * 0.4))).toBe(399);
  expect(smallestDimension(64, parseDecimal("0.4", "gamma"))).toBe(465n);
  expect(smallestDimension(100, parseDecimal("0.3", "gamma"))).toBe(1111n + 101n);
  expect(smallestDimension(49, parseDecimal("0.49", "gamma"))).toBe(204n + 50n); // 49/0.2401 = 204.08…
});

test("r/γ² is an exact fraction", () => {
  expect(compare(overSquare(64, parseDecimal("0.4", "gamma")), rational(400))).toBe(0);
});
