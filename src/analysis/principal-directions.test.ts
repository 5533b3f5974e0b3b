import { expect, test } from "vitest";
import { expectClose } from "../../tests/support/close.js";
import { matrixWith } from "../../tests/support/matrices.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { principalDirections, projectToPlane } from "./principal-directions.js";

test("directions and sizes are the singular vectors and values, for wide and tall matrices", () =>
  scope(() => {
    for (const shape of [
      [5, 9],
      [9, 5],
    ] as [number, number][]) {
      const { matrix } = matrixWith([4, 2, 1], shape);
      const { directions, squares } = principalDirections(matrix, 3);
      expectClose([...squares], [16, 4, 1], { rtol: 1e-9 });
      expectClose(directions.mm(directions.t()), [[1, 0, 0], [0, 1, 0], [0, 0, 1]], { atol: 1e-9 }); // biome-ignore format: a matrix
      expectClose(matrix.mm(directions.t()).square().sum(0), [16, 4, 1], { rtol: 1e-9 });
    }
  }));

test("directions that are only rounding errors are skipped, and at most the requested number is returned", () =>
  scope(() => {
    const { matrix } = matrixWith([3, 1], [6, 8]);
    expect(principalDirections(matrix, 5).squares).toHaveLength(2);
    expect(principalDirections(matrix, 1).directions.shape).toEqual([1, 8]);
  }));

test("points on a line lie on a line in the plane, the mean at its middle", () =>
  scope(() => {
    const { points, shares } = projectToPlane(tensor([[0, 0, 1], [3, 4, 1], [6, 8, 1]])); // biome-ignore format: a matrix
    expect(points.map(({ x }) => x)).toEqual([-5, 0, 5].map((x) => expect.closeTo(x, 9)));
    expect(points.every(({ y }) => Math.abs(y) < 1e-6)).toBe(true);
    expect(shares).toEqual([expect.closeTo(1, 9), 0]);
  }));

test("rows that are all the same are one point", () =>
  scope(() => {
    const { points, shares } = projectToPlane(tensor([[1, 2], [1, 2]])); // biome-ignore format: a matrix
    expect({ points, shares }).toEqual({ points: [{ x: 0, y: 0 }, { x: 0, y: 0 }], shares: [0, 0] }); // biome-ignore format: short
  }));
