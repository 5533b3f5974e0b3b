import { expect, test } from "vitest";
import { clipToHalfPlane, lineInBox } from "./half-plane.js";

const box = { x0: 0, x1: 2, y0: 0, y1: 1 };

test("a half-plane keeps all, none, or its side of the box", () => {
  expect(clipToHalfPlane(box, { a: 0, b: 0, c: 1 })).toHaveLength(4);
  expect(clipToHalfPlane(box, { a: 0, b: 0, c: -1 })).toEqual([]);
  expect(clipToHalfPlane(box, { a: 1, b: 0, c: -1.5 })).toEqual([
    { x: 1.5, y: 0 },
    { x: 2, y: 0 },
    { x: 2, y: 1 },
    { x: 1.5, y: 1 },
  ]);
});

test("a line is cut where it meets the box, through corners too, and misses cleanly", () => {
  expect(lineInBox(box, { a: 1, b: 0, c: -1 })?.map((p) => p.x)).toEqual([1, 1]);
  const diagonal = lineInBox(box, { a: 1, b: -2, c: 0 })!;
  expect(diagonal.map((p) => p.x).sort()).toEqual([0, 2]);
  expect(diagonal.map((p) => p.y).sort()).toEqual([0, 1]);
  expect(lineInBox(box, { a: 1, b: 1, c: 5 })).toBeUndefined();
});
