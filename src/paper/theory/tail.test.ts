import { expect, test } from "vitest";
import { INVARIANT } from "./distributions.js";
import { samplePlain } from "./sampling.js";
import { saddle, upperTail } from "./tail.js";

/** P[U₁ + … + U_n ≥ x], the Irwin–Hall distribution in exact rational arithmetic; x in tenths. */
function irwinHall(n: number, tenths: number): number {
  let sum = 0n;
  let choose = 1n;
  for (let k = 0; k <= n; k++) {
    if (10 * k < tenths) sum += (k % 2 === 0 ? 1n : -1n) * choose * BigInt(tenths - 10 * k) ** BigInt(n);
    choose = (choose * BigInt(n - k)) / BigInt(k + 1);
  }
  let factorial = 1n;
  for (let k = 2; k <= n; k++) factorial *= BigInt(k);
  const whole = factorial * 10n ** BigInt(n);
  const above = whole - sum;
  return Number((above * 10n ** 60n) / whole) / 1e60;
}

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1);
}

const uniforms = (count: number, weight = 1) => ({ gamma: INVARIANT, weight, count });

test("sums of uniform features follow Irwin and Hall, in the middle and in both tails", () => {
  for (const [n, tenths] of [
    [1, 3],
    [2, 15],
    [3, 8],
    [4, 20],
    [4, 35],
    [6, 9],
    [12, 60],
    [12, 95],
    [20, 55],
  ]) {
    const exact = irwinHall(n, tenths);
    expect(upperTail([uniforms(n)], tenths / 10).value / exact, `n=${n}, x=${tenths / 10}`).toBeCloseTo(1, 9);
  }
});

test("the last corner of the cube is exact: P[S ≥ n − x] = xⁿ/n!", () => {
  for (const [n, x] of [
    [5, 0.4],
    [12, 0.5],
    [40, 0.9],
  ]) {
    const exact = n * Math.log10(x) - Math.log10(factorial(n));
    expect(upperTail([uniforms(n)], n - x).log10, `n=${n}`).toBeCloseTo(exact, 9);
  }
});

test("spurious features are uniform less a coin: the binomial mixture of Irwin–Hall", () => {
  for (const gamma of [-0.3, 0.2]) {
    for (const n of [2, 3, 5, 9]) {
      let exact = 0;
      let choose = 1;
      for (let k = 0; k <= n; k++) {
        exact += choose * (0.5 - gamma) ** k * (0.5 + gamma) ** (n - k) * irwinHall(n, 10 * k + 5);
        choose = (choose * (n - k)) / (k + 1);
      }
      expect(upperTail([{ gamma, weight: 2, count: n }], 1).value, `γ=${gamma}, n=${n}`).toBeCloseTo(exact, 11);
    }
  }
});

test("few features by volumes and more by the series meet: a negligible fourth one changes nothing", () => {
  const three = [uniforms(2, 0.8), { gamma: -0.4, weight: 0.5, count: 1 }];
  for (const x of [0.2, 0.7, 1.3]) {
    const four = upperTail([...three, uniforms(1, 1e-3)], x + 5e-4); // the mean; the variance has a second-order effect
    expect(four.value).toBeCloseTo(upperTail(three, x).value, 6);
  }
});

test("event and complement are both given, the small one exactly", () => {
  const likely = upperTail([uniforms(10)], 0.5);
  expect(likely.log10Complement).toBeCloseTo(10 * Math.log10(0.5) - Math.log10(factorial(10)), 9);
  expect(likely.value).toBeCloseTo(1, 9);
  expect(10 ** likely.log10 + 10 ** likely.log10Complement).toBeCloseTo(1, 12);
});

test("certain, impossible and zero-weight margins", () => {
  expect(upperTail([uniforms(8)], 0)).toMatchObject({ value: 1, log10: 0, log10Complement: Number.NEGATIVE_INFINITY });
  expect(upperTail([uniforms(8)], 8.1)).toMatchObject({ value: 0, log10: Number.NEGATIVE_INFINITY });
  expect(upperTail([uniforms(8, 0.2), { gamma: -0.4, weight: 0, count: 100 }], 0).value).toBe(1);
});

test("the saddle point tilts the mean onto the threshold", () => {
  // One uniform feature with mean 0.5 needs no tilt; towards 0.9 the tilt c solves 1/(1 − e^{−c}) − 1/c = 0.9.
  const c = saddle([uniforms(1)], 0.9);
  expect(1 / (1 - Math.exp(-c)) - 1 / c).toBeCloseTo(0.9, 12);
});

test("plain sampling agrees where both weights matter", () => {
  const groups = [uniforms(4, 0.388), { gamma: -0.3, weight: 0.2125, count: 6 }];
  const { estimate, standardError } = samplePlain(groups, 40_000, 1, "tail test");
  expect(Math.abs(estimate - upperTail(groups).value)).toBeLessThan(4 * (standardError ?? 0));
});
