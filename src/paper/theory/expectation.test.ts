import { expect, test } from "vitest";
import { scale } from "./complex.js";
import { INVARIANT, negativePart, uniformMoment } from "./distributions.js";
import { drawFeature, draws } from "./draws.js";
import { expectation, logisticCurvature, logisticLoss, logisticSlope, lossDerivatives } from "./expectation.js";
import { bruteForce } from "./quadrature.fixture.js";

const invariant = { gamma: INVARIANT, weight: 1.3, count: 2 };
const spurious = { gamma: 0.3, weight: 0.6, count: 2 };
const gammas = [INVARIANT, INVARIANT, 0.3, 0.3];
const margin = ([a, b, c, d]: readonly number[]) => 1.3 * (a + b) + 0.6 * (c + d);

test("loss, slope and curvature agree with brute-force integration over four features", () => {
  const exact = (f: (s: number) => number) => bruteForce(gammas, (z) => f(margin(z)), 12);
  expect(expectation("loss", [invariant, spurious])).toBeCloseTo(exact(logisticLoss), 12);
  expect(expectation("slope", [invariant, spurious])).toBeCloseTo(exact(logisticSlope), 12);
  expect(expectation("curvature", [invariant, spurious])).toBeCloseTo(exact(logisticCurvature), 12);
});

test("gradient and Hessian by two weights agree with brute-force integration", () => {
  const exact = (f: (s: number) => number, g: (x: number, y: number) => number) =>
    bruteForce(gammas, (z) => f(margin(z)) * g(z[0] + z[1], z[2] + z[3]), 12);
  const { gradient, hessian } = lossDerivatives(invariant, spurious);
  expect(gradient[0]).toBeCloseTo(-exact(logisticSlope, (x) => x), 12);
  expect(gradient[1]).toBeCloseTo(-exact(logisticSlope, (_, y) => y), 12);
  expect(hessian[0]).toBeCloseTo(
    exact(logisticCurvature, (x) => x * x),
    12,
  );
  expect(hessian[1]).toBeCloseTo(
    exact(logisticCurvature, (x, y) => x * y),
    12,
  );
  expect(hessian[2]).toBeCloseTo(
    exact(logisticCurvature, (_, y) => y * y),
    12,
  );
});

test("a shift moves the margin, a factor weighs one more feature", () => {
  const shifted = bruteForce(gammas, (z) => logisticSlope(margin(z) + 0.7), 12);
  expect(expectation("slope", [invariant, spurious], { shift: 0.7 })).toBeCloseTo(shifted, 12);
  const weighed = bruteForce([INVARIANT, INVARIANT, 0.3], ([a, b, c]) => logisticSlope(1.3 * (a + b) + 0.6 * c) * a);
  const one = { gamma: INVARIANT, weight: 1.3, count: 1 };
  const other = { gamma: 0.3, weight: 0.6, count: 1 };
  const byFactor = expectation("slope", [one, other], { factor: (u) => uniformMoment(1, scale(u, 1.3)) });
  expect(byFactor).toBeCloseTo(weighed, 12);
  const below = bruteForce([INVARIANT, 0.3], ([a, c]) => (c < 0 ? logisticSlope(1.3 * a + 0.6 * c) * c : 0));
  const byPart = expectation("slope", [one], { factor: (u) => negativePart(0.3, 1, scale(u, 0.6)) });
  expect(byPart).toBeCloseTo(below, 12);
});

test("weight zero gives ln 2, one half and one quarter", () => {
  const nothing = [{ gamma: INVARIANT, weight: 0, count: 9 }];
  expect(expectation("loss", nothing)).toBeCloseTo(Math.LN2, 14);
  expect(expectation("slope", nothing)).toBeCloseTo(0.5, 14);
  expect(expectation("curvature", nothing)).toBeCloseTo(0.25, 14);
});

test("tiny expectations keep their relative precision", () => {
  // For large t, E ℓ(tX) of n uniform features is t^{−n} η(n + 1), η(4) = 7π⁴/720, because only the corner of the cube
  // counts.
  const value = expectation("loss", [{ gamma: INVARIANT, weight: 1000, count: 3 }]);
  expect(value / (1e-9 * ((7 * Math.PI ** 4) / 720))).toBeCloseTo(1, 10);
  // Many features, where η(65) = 1 − 2^{−65} + …
  expect(expectation("loss", [{ gamma: INVARIANT, weight: 100, count: 64 }]) / 1e-128).toBeCloseTo(1, 9);
});

test("negative weights are allowed, and ℓ(s) − ℓ(−s) = −s holds in expectation", () => {
  const there = expectation("loss", [invariant, spurious]);
  const back = expectation("loss", [
    { ...invariant, weight: -1.3 },
    { ...spurious, weight: -0.6 },
  ]);
  expect(there - back).toBeCloseTo(-(1.3 * 1 + 0.6 * 0.6), 12);
});

test("sampling four hundred features agrees", () => {
  const groups = [
    { gamma: INVARIANT, weight: 0.05, count: 40 },
    { gamma: 0.2, weight: 0.02, count: 360 },
  ];
  const draw = draws(3, "expectation test");
  const n = 4000;
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < n; i++) {
    let s = 0;
    for (const { gamma, weight, count } of groups)
      for (let j = 0; j < count; j++) s += weight * drawFeature(gamma, draw);
    sum += logisticLoss(s);
    squares += logisticLoss(s) ** 2;
  }
  const standardError = Math.sqrt((squares / n - (sum / n) ** 2) / n);
  expect(Math.abs(sum / n - expectation("loss", groups))).toBeLessThan(4 * standardError);
});
