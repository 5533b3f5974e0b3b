import { expect, test } from "vitest";
import { referenceVectors } from "../../tests/support/reference-vectors.js";
import { tenToThe, twoToThe } from "./power.js";

test("powers are those of 60-digit decimal arithmetic, to the last bit", () => {
  for (const [x, power] of referenceVectors.tenToThe) expect(tenToThe(x), `10^${x}`).toBe(power);
  for (const [x, power] of referenceVectors.twoToThe) expect(twoToThe(x), `2^${x}`).toBe(power);
});

test("powers lie within one unit in the last place of Math.pow, everywhere in the range", () => {
  for (let x = -300; x <= 300; x += 0.37) {
    expect(Math.abs(tenToThe(x) / 10 ** x - 1), `10^${x}`).toBeLessThan(2 ** -51);
    expect(Math.abs(twoToThe(x) / 2 ** x - 1), `2^${x}`).toBeLessThan(2 ** -51);
  }
});

test("whole powers are exact where a double holds them, and a tie rounds to even", () => {
  let power = 1;
  for (let x = 0; x <= 300; x++, power *= 2) {
    expect(twoToThe(x)).toBe(power);
    expect(twoToThe(-x)).toBe(1 / power);
  }
  expect(tenToThe(22)).toBe(1e22);
  expect(tenToThe(23)).toBe(1e23);
  expect(tenToThe(-5)).toBe(1e-5);
});

test.each([301, -301, Number.NaN, Number.POSITIVE_INFINITY])("an exponent of %s is refused", (x) => {
  expect(() => tenToThe(x)).toThrow(`expected an exponent from -300 to 300, got ${x}`);
  expect(() => twoToThe(x)).toThrow(`expected an exponent from -300 to 300, got ${x}`);
});
