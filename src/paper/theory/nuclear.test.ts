import { expect, test } from "vitest";
import { INVARIANT, variance } from "./distributions.js";
import { drawFeature, draws } from "./draws.js";
import { expectation } from "./expectation.js";
import { nuclearPenalty, penaltyForm, solveNuclear } from "./nuclear.js";
import { promiseLimits } from "./nuclear-limits.js";

/** Computes the eigenvalues of a small symmetric matrix with Jacobi rotations. */
function eigenvalues(matrix: readonly (readonly number[])[]): number[] {
  const a = matrix.map((row) => [...row]);
  const n = a.length;
  for (let sweep = 0; sweep < 60; sweep++) {
    for (let p = 0; p < n; p++) {
      for (let q = p + 1; q < n; q++) {
        if (Math.abs(a[p][q]) < 1e-300) continue;
        const theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        const t = Math.sign(theta || 1) / (Math.abs(theta) + Math.hypot(theta, 1));
        const c = 1 / Math.hypot(t, 1);
        const s = t * c;
        for (let k = 0; k < n; k++) [a[k][p], a[k][q]] = [c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]];
        for (let k = 0; k < n; k++) [a[p][k], a[q][k]] = [c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]];
      }
    }
  }
  return a.map((row, i) => row[i]);
}

/** ‖C^{1/2} diag(w)‖_* of any weights: the square roots of the eigenvalues of diag(w) C diag(w). */
function nuclearNorm(w: readonly number[], r: number, gamma: number): number {
  const own = (j: number) => (j < r ? INVARIANT : gamma);
  const second = w.map((wi, i) => w.map((wj, j) => wi * wj * (own(i) * own(j) + (i === j ? variance(own(i)) : 0))));
  return eigenvalues(second).reduce((sum, value) => sum + Math.sqrt(Math.max(0, value)), 0);
}

const grouped = (r: number, d: number, alpha: number, beta: number) =>
  Array.from({ length: d }, (_, j) => (j < r ? alpha : beta));

test("the closed form is the sum of the roots of the eigenvalues", () => {
  for (const [r, d, gamma] of [
    [3, 7, 0.4],
    [1, 5, 0.2],
    [4, 5, 0.45],
    [1, 2, 0.1],
  ]) {
    for (const [alpha, beta] of [
      [0.7, 0.3],
      [1, 0],
      [0, 1],
      [0.2, -0.9],
    ]) {
      const closed = nuclearPenalty(penaltyForm({ r, d, gamma }), { alpha, beta });
      // For eigenvalues that should be zero, the error of the square root is the square root of the rounding error.
      expect(closed, `r=${r} d=${d} γ=${gamma}`).toBeCloseTo(nuclearNorm(grouped(r, d, alpha, beta), r, gamma), 6);
    }
  }
});

test("a batch's nuclear norm over √n tends to it", () => {
  const [r, d, gamma, n] = [2, 5, 0.3, 40_000];
  const w = grouped(r, d, 0.8, 0.5);
  const draw = draws(5, "nuclear test");
  const gram = w.map(() => w.map(() => 0));
  for (let i = 0; i < n; i++) {
    const row = w.map((wj, j) => wj * drawFeature(j < r ? INVARIANT : gamma, draw));
    row.forEach((a, j) => {
      row.forEach((b, k) => {
        gram[j][k] += (a * b) / n;
      });
    });
  }
  const batch = eigenvalues(gram).reduce((sum, value) => sum + Math.sqrt(value), 0);
  expect(batch).toBeCloseTo(nuclearPenalty(penaltyForm({ r, d, gamma }), { alpha: 0.8, beta: 0.5 }), 2);
});

/** E ℓ + λ‖C^{1/2} diag(w)‖_* of any weights. */
function objective(w: readonly number[], r: number, gamma: number, lambda: number): number {
  const groups = w.map((weight, j) => ({ gamma: j < r ? INVARIANT : gamma, weight, count: 1 }));
  return expectation("loss", groups) + lambda * nuclearNorm(w, r, gamma);
}

test("no nearby weights do better, grouped or not, inside and on the edges", () => {
  for (const { r, d, gamma, lambda, support } of [
    { r: 4, d: 9, gamma: 0.3, lambda: 0.2, support: "invariant" },
    { r: 2, d: 9, gamma: 0.45, lambda: 0.1, support: "both" },
    { r: 2, d: 6, gamma: 0.3, lambda: 2, support: "none" },
  ]) {
    const solution = solveNuclear({ r, d, gamma, lambda });
    expect(solution.support).toBe(support);
    const w = grouped(r, d, solution.alpha, solution.beta);
    const best = objective(w, r, gamma, lambda);
    expect(best).toBeCloseTo(solution.value, 6);
    const draw = draws(1, `nearby ${support}`);
    for (let trial = 0; trial < 60; trial++) {
      const size = 10 ** (-3 * draw());
      const moved = w.map((value) => value + size * (draw() - 0.5));
      expect(objective(moved, r, gamma, lambda)).toBeGreaterThan(best - 1e-7);
    }
    for (const [da, db] of [
      [1e-3, 0],
      [-1e-3, 0],
      [0, 1e-3],
      [0, -1e-3],
      [1e-3, 1e-3],
      [-1e-3, 1e-3],
    ]) {
      const moved = grouped(r, d, solution.alpha + da, solution.beta + db);
      expect(objective(moved, r, gamma, lambda)).toBeGreaterThan(best);
    }
  }
});

test("the limits of the promise are edges: on one side the support is R, on the other it is not", () => {
  const problem = { r: 4, d: 30, gamma: 0.4, lambda: 0.3 };
  const { smallestLambda, largestGamma, lambdaMax } = promiseLimits(problem);
  const support = (change: Partial<typeof problem>) => solveNuclear({ ...problem, ...change }).support;
  expect(support({ lambda: smallestLambda! * 1.001 })).toBe("invariant");
  expect(support({ lambda: smallestLambda! * 0.999 })).toBe("both");
  expect(support({ lambda: lambdaMax * 0.999 })).toBe("invariant");
  expect(support({ lambda: lambdaMax * 1.001 })).toBe("none");
  expect(support({ gamma: largestGamma! - 1e-4 })).toBe("invariant");
  expect(support({ gamma: largestGamma! + 1e-4 })).toBe("both");
});

test("the weight that empties the model is the gain per penalty of the invariant direction", () => {
  // With β = 0: ½·r·½ over (r − 1)/√12 + √(1/12 + r/4).
  const { lambdaMax } = solveNuclear({ r: 64, d: 465, gamma: 0.4, lambda: 0.1 });
  expect(lambdaMax).toBeCloseTo(16 / (63 / Math.sqrt(12) + Math.sqrt(1 / 12 + 16)), 12);
});

test("with one invariant feature there is no λ that keeps strong spurious ones out", () => {
  expect(promiseLimits({ r: 1, d: 8, gamma: 0.45, lambda: 0.1 }).smallestLambda).toBeNull();
});

test("at r = 64 the promise holds at γ = 0.4 and breaks before γ = ½", () => {
  const problem = { r: 64, d: 465, lambda: 0.490853 };
  expect(solveNuclear({ ...problem, gamma: 0.4 })).toMatchObject({ support: "invariant", beta: 0 });
  const broken = solveNuclear({ ...problem, gamma: 0.49 });
  expect(broken.support).toBe("both");
  expect(broken.alpha / broken.beta).toBeCloseTo(2.3472, 3);
  expect(promiseLimits({ ...problem, gamma: 0.4 }).largestGamma).toBeCloseTo(0.47455, 4);
});
