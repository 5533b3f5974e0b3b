import { expect, test } from "vitest";
import { keyedRandom } from "../../engine/philox.js";
import { decompose, type Matrix, matrix, multiply, transpose } from "./matrix.js";

function randomMatrix(rows: number, columns: number, purpose: string): Matrix {
  const random = keyedRandom(0, "matrix test", purpose, rows, columns);
  return matrix(
    rows,
    columns,
    Array.from({ length: rows * columns }, () => random.normal()),
  );
}

const largestDifference = (a: Matrix, b: Matrix): number =>
  Math.max(...a.data.map((value, i) => Math.abs(value - b.data[i])));

function rebuild(m: Matrix): Matrix {
  const { u, sigma, v } = decompose(m);
  const scaled = { ...u, data: u.data.map((value, i) => value * sigma[i % u.columns]) };
  return multiply(scaled, transpose(v));
}

test.each([
  [2, 2],
  [7, 3],
  [3, 7],
  [1, 5],
  [5, 1],
  [40, 12],
])("a %d×%d matrix is U·Σ·Vᵀ with orthonormal U and V", (rows, columns) => {
  const m = randomMatrix(rows, columns, "any");
  const { u, sigma, v } = decompose(m);
  expect(largestDifference(rebuild(m), m)).toBeLessThan(1e-13);
  for (const q of [u, v]) {
    const gram = multiply(transpose(q), q);
    gram.data.forEach((value, i) => {
      expect(Math.abs(value - (i % (gram.columns + 1) === 0 ? 1 : 0))).toBeLessThan(1e-13);
    });
  }
  expect([...sigma]).toEqual([...sigma].sort((a, b) => b - a));
});

test("singular values keep their digits where a Gram matrix would lose them", () => {
  // diag(1, 1e-12) between two rotations: squared, 1e-24 is far below the last digit of 1.
  const turn = (angle: number) => matrix(2, 2, [Math.cos(angle), -Math.sin(angle), Math.sin(angle), Math.cos(angle)]);
  const m = multiply(multiply(turn(0.3), matrix(2, 2, [1, 0, 0, 1e-12])), turn(1.1));
  const { sigma } = decompose(m);
  expect(sigma[0]).toBeCloseTo(1, 14);
  expect(Math.abs(sigma[1] / 1e-12 - 1)).toBeLessThan(1e-3); // forming m itself costs 1e-16/1e-12
});

test("very large and very small entries neither overflow nor vanish", () => {
  for (const scale of [1e200, 1e-200]) {
    const { sigma } = decompose(matrix(2, 2, [3 * scale, 0, 0, 4 * scale]));
    expect([...sigma].map((s) => s / scale)).toEqual([expect.closeTo(4, 12), expect.closeTo(3, 12)]);
  }
});

test("zero and rank-one matrices have zero singular values and no NaN", () => {
  expect([...decompose(matrix(3, 2)).sigma]).toEqual([0, 0]);
  const { u, sigma } = decompose(matrix(3, 2, [1, 2, 2, 4, 3, 6]));
  expect(sigma[0]).toBeCloseTo(Math.sqrt(70), 12);
  expect(sigma[1]).toBeLessThan(1e-14);
  expect(u.data.every(Number.isFinite)).toBe(true);
});
