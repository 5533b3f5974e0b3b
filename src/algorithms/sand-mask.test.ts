import { expect, test } from "vitest";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { softlyAgreed } from "./sand-mask.js";

const masked = (gradients: number[][], tau: number, k: number): number[] =>
  scope(() =>
    softlyAgreed(
      gradients.map((each) => tensor(each, { dtype: "float64" })),
      { tau, k },
    ).toNumbers(),
  );

const GRADIENTS = [
  [1, -1, 2],
  [2, 1, 3],
  [3, -2, -1],
];

test("the mask is soft where it has a slope, and hard where it is steep", () => {
  // These numbers were computed with DomainBed.
  const hard = masked(GRADIENTS, 0.5, 10);
  expect(hard[0]).toBeCloseTo(6, 5);
  expect(hard.slice(1).map(Math.abs)).toEqual([0, 0]);
  const soft = masked(GRADIENTS, 0.2, 1);
  for (const [i, value] of [5.299032, -0.151835, 0.163641].entries()) expect(soft[i]).toBeCloseTo(value, 6);
});

test("at tau 1 nothing passes, and gradients without variance are a number", () => {
  expect(masked(GRADIENTS, 1, 10).map(Math.abs)).toEqual([0, 0, 0]);
  expect(masked([[1], [1]], 1, 10).every(Number.isFinite)).toBe(true);
  expect(masked([[1, 2]], 0.5, 10).every(Number.isFinite)).toBe(true);
});
