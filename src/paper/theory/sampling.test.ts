import { expect, test } from "vitest";
import { INVARIANT } from "./distributions.js";
import { drawFeature, draws, tiltedFeature } from "./draws.js";
import { samplePlain, sampleTilted } from "./sampling.js";
import { upperTail } from "./tail.js";

test("a stream depends on its seed and its purpose, and on nothing else", () => {
  const first = draws(1, "a");
  const again = draws(1, "a");
  const numbers = Array.from({ length: 5 }, first);
  expect(Array.from({ length: 5 }, again)).toEqual(numbers);
  expect(Array.from({ length: 5 }, draws(2, "a"))).not.toEqual(numbers);
  expect(Array.from({ length: 5 }, draws(1, "b"))).not.toEqual(numbers);
});

test("draws have the mean and second moment of D_γ, tilted ones those of the tilt", () => {
  const n = 200_000;
  for (const gamma of [-0.4, 0.25, INVARIANT]) {
    const draw = draws(7, `moments ${gamma}`);
    let [sum, squares] = [0, 0];
    for (let i = 0; i < n; i++) {
      const z = drawFeature(gamma, draw);
      sum += z;
      squares += z * z;
    }
    expect(sum / n).toBeCloseTo(gamma, 2);
    expect(squares / n).toBeCloseTo(1 / 3, 2);
  }
  // e^{2z} on D_{−0.3}: mean (0.2·∫₀¹ze^{2z} + 0.8·∫₋₁⁰ze^{2z}) / (0.2·∫₀¹e^{2z} + 0.8·∫₋₁⁰e^{2z}), by hand.
  const e = Math.exp(2);
  const above = 0.2 * ((e + 1) / 4);
  const below = 0.8 * ((3 / e - 1) / 4);
  const mass = 0.2 * ((e - 1) / 2) + 0.8 * ((1 - 1 / e) / 2);
  const tilted = tiltedFeature(-0.3, 2, draws(7, "tilted"));
  let sum = 0;
  for (let i = 0; i < n; i++) sum += tilted();
  expect(sum / n).toBeCloseTo((above + below) / mass, 2);
});

test("nothing hit gives an upper bound, everything hit a lower one, anything else a standard error", () => {
  const never = samplePlain([{ gamma: -0.4, weight: 1, count: 200 }], 1000, 0, "never");
  expect(never).toMatchObject({ hits: 0, standardError: null, lowerBound: null });
  expect(never.upperBound).toBeCloseTo(3 / 1000, 4); // the rule of three
  const always = samplePlain([{ gamma: INVARIANT, weight: 1, count: 3 }], 1000, 0, "always");
  expect(always).toMatchObject({ hits: 1000, standardError: null, upperBound: null });
  expect(samplePlain([{ gamma: 0, weight: 1, count: 3 }], 1000, 0, "often").standardError).toBeCloseTo(0.0158, 3);
});

test("tilted sampling finds probabilities far below what plain sampling sees", () => {
  const groups = [
    { gamma: INVARIANT, weight: 1.25, count: 32 },
    { gamma: -0.4, weight: 1, count: 200 },
  ];
  const exact = upperTail(groups).log10;
  expect(exact).toBeLessThan(-15);
  const { log10, relativeStandardError } = sampleTilted(groups, 5000, 0, "tilted test")!;
  expect(relativeStandardError).toBeLessThan(0.1);
  expect(Math.abs(10 ** (log10 - exact) - 1)).toBeLessThan(4 * relativeStandardError);
});

test("there is no tilt for what is likely or impossible", () => {
  expect(sampleTilted([{ gamma: INVARIANT, weight: 1, count: 3 }], 10, 0, "x")).toBeNull();
  expect(sampleTilted([{ gamma: -0.5, weight: 1, count: 3 }], 10, 0, "x")).toBeNull();
});
