import { expect, test } from "vitest";
import { keyedRandom } from "./philox.js";
import { portableExp, portableLog } from "./portable-math.js";

/** Returns the distance in units in the last place of `b`. */
function ulps(a: number, b: number): number {
  if (a === b) return 0;
  const exponent = Math.floor(Math.log2(Math.abs(b)));
  return Math.abs(a - b) / 2 ** Math.max(-1074, exponent - 52);
}

test("the logarithm agrees with Math.log to 2 units in the last place from the smallest number to the largest", () => {
  const random = keyedRandom(0, "log test");
  for (let i = 0; i < 20_000; i++) {
    const x = random.uniform(1, 2) * 2 ** (random.integer(2096) - 1073);
    expect(ulps(portableLog(x), Math.log(x)), `log ${x}`).toBeLessThanOrEqual(2);
  }
  for (let i = 0; i < 20_000; i++) {
    const x = random.uniform(0.5, 2); // around 1, where the result is small
    expect(ulps(portableLog(x), Math.log(x)), `log ${x}`).toBeLessThanOrEqual(2);
  }
});

test("the logarithm's special values are those of Math.log", () => {
  for (const x of [0, -0, 1, -1, Number.NaN, Number.POSITIVE_INFINITY, 5e-324, 1e-310])
    expect(portableLog(x)).toBe(Math.log(x));
});

test("the exponential agrees with Math.exp to 2 units in the last place", () => {
  const random = keyedRandom(0, "exp test");
  for (let i = 0; i < 20_000; i++) {
    const x = random.uniform(-744, 709.7);
    expect(ulps(portableExp(x), Math.exp(x)), `exp ${x}`).toBeLessThanOrEqual(2);
  }
});

test("the exponential's special values are those of Math.exp", () => {
  for (const x of [0, -0, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 710, -746])
    expect(portableExp(x)).toBe(Math.exp(x));
});
