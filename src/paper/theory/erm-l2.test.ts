import { expect, test } from "vitest";
import { INVARIANT } from "./distributions.js";
import { solveL2, twoGroups } from "./erm-l2.js";
import { logisticLoss, logisticSlope } from "./expectation.js";
import { descend } from "./gradient-descent.js";
import { bruteForce } from "./quadrature.fixture.js";
import { smallestLambda } from "./setting.js";
import { upperTail } from "./tail.js";

test("one invariant and one spurious feature: the gradient vanishes by brute-force integration", () => {
  const lambda = 0.1;
  const { alpha, beta, value, stationarity } = solveL2({ invariant: 1, spurious: 1, gamma: 0.3, lambda });
  const slope = (weight: (a: number, b: number) => number) =>
    bruteForce([INVARIANT, 0.3], ([a, b]) => logisticSlope(alpha * a + beta * b) * weight(a, b), 40);
  expect(slope((a) => a)).toBeCloseTo(lambda * alpha, 13);
  expect(slope((_, b) => b)).toBeCloseTo(lambda * beta, 13);
  expect(stationarity).toBeLessThan(1e-12);
  const loss = bruteForce([INVARIANT, 0.3], ([a, b]) => logisticLoss(alpha * a + beta * b), 40);
  expect(value).toBeCloseTo(loss + (lambda / 2) * (alpha ** 2 + beta ** 2), 13);
});

test("with a very large λ the weights are λ⁻¹ times half the means", () => {
  const { alpha, beta } = solveL2({ invariant: 5, spurious: 7, gamma: 0.2, lambda: 1e6 });
  expect(alpha * 1e6).toBeCloseTo(0.25, 5);
  expect(beta * 1e6).toBeCloseTo(0.1, 5);
});

test("the optimum is found over seventeen orders of magnitude of λ", () => {
  for (let power = -12; power <= 5; power += 3) {
    const { stationarity } = solveL2({ invariant: 16, spurious: 80, gamma: 0.4, lambda: 10 ** power });
    expect(stationarity, `λ = 1e${power}`).toBeLessThan(1e-10);
  }
});

test("a support of one kind, or of none, is solved too", () => {
  expect(solveL2({ invariant: 0, spurious: 0, gamma: 0.4, lambda: 1 }).value).toBe(Math.LN2);
  expect(solveL2({ invariant: 3, spurious: 0, gamma: 0.4, lambda: 0.1 })).toMatchObject({ beta: 0 });
  expect(solveL2({ invariant: 0, spurious: 3, gamma: 0.4, lambda: 0.1 })).toMatchObject({ alpha: 0 });
});

test("r = 64, γ = 0.4, d = 465: α/β is 1.2552 and the out-of-domain accuracy 1.36e-36", () => {
  const model = { r: 64, d: 465, gamma: 0.4 };
  const counts = { invariant: 64, spurious: 401 };
  const solution = solveL2({ ...counts, gamma: 0.4, lambda: smallestLambda(model) });
  expect(solution.alpha / solution.beta).toBeCloseTo(1.25519872, 7);
  expect(solution.alpha).toBeCloseTo(0.0234998357, 9);
  expect(upperTail(twoGroups(counts, solution, -0.4)).log10).toBeCloseTo(-35.8651, 3);
});

test("gradient descent on all weights, told nothing of groups, arrives at the same two values", () => {
  for (const problem of [
    { r: 16, d: 117, gamma: 0.4, lambda: 0.8 },
    { r: 4, d: 10, gamma: 0.3, lambda: 0.3 },
  ]) {
    const { r, d, gamma, lambda } = problem;
    const exact = solveL2({ invariant: r, spurious: d - r, gamma, lambda });
    const found = descend({ ...problem, samples: 40_000, seed: 0 });
    expect(found.converged).toBe(true);
    expect(Math.abs(found.invariant.mean - exact.alpha)).toBeLessThan(5 * found.invariant.standardError);
    expect(Math.abs(found.spurious.mean - exact.beta)).toBeLessThan(5 * found.spurious.standardError);
    // Within 2 %, so that the test cannot pass because of large standard errors.
    expect(found.invariant.mean / exact.alpha).toBeCloseTo(1, 1.7);
    expect(found.spurious.mean / exact.beta).toBeCloseTo(1, 1.7);
    expect(found.invariant.spread).toBeLessThan(0.1 * exact.alpha);
  }
});

test("a descent that is too short is reported", () => {
  expect(descend({ r: 16, d: 117, gamma: 0.4, lambda: 1e-4, samples: 400, seed: 0 }).converged).toBe(false);
});
