import { expect, test } from "vitest";
import { simplestWithinError } from "./simplest-within-error.js";

const ones = (right: number, of: number): number[] => Array.from({ length: of }, (_, i) => (i < right ? 1 : 0));

test("a clearly better candidate is chosen over a simpler one", () => {
  const { chosen, best } = simplestWithinError([[ones(60, 100)], [ones(80, 100)]]);
  expect([chosen, best]).toEqual([1, 1]);
});

test("the simplest within one standard error of the best is chosen", () => {
  // If the candidates differ in one of 100 pictures, the difference is 0.01 and its standard error is √(0.01·0.99/99) =
  // 0.01. If they differ in four, these are 0.04 and 0.0197.
  const apart = simplestWithinError([[ones(79, 100)], [ones(80, 100)]]);
  expect(apart.scores[0].below).toBeCloseTo(0.01, 12);
  expect(apart.scores[0].error).toBeCloseTo(0.01, 12);
  expect(apart.chosen).toBe(0);
  const farther = simplestWithinError([[ones(76, 100)], [ones(80, 100)]]);
  expect(farther.scores[0].error).toBeCloseTo(Math.sqrt((0.04 * 0.96) / 99), 12);
  expect(farther.chosen).toBe(1);
  // Two pictures are lost and one is gained, which gives the same difference with a larger error.
  const mixed = simplestWithinError([[[0, 0, 1, ...ones(77, 97)]], [[1, 1, 0, ...ones(77, 97)]]]);
  expect(mixed.scores[0].error).toBeGreaterThan(0.01);
  expect(mixed.chosen).toBe(0);
});

test("every domain counts the same, whatever its size", () => {
  const small = { a: ones(9, 10), b: ones(1, 10) };
  const large = { a: ones(500, 1000), b: ones(600, 1000) };
  const { best, scores } = simplestWithinError([
    [small.b, large.b],
    [small.a, large.a],
  ]);
  expect(best).toBe(1);
  expect(scores.map(({ mean }) => mean)).toEqual([(0.1 + 0.6) / 2, (0.9 + 0.5) / 2]);
});

test("of equals the first is best, and domains without pictures count nowhere", () => {
  const { chosen, best, scores } = simplestWithinError([
    [ones(5, 10), []],
    [ones(5, 10), []],
  ]);
  expect([chosen, best, scores[1].mean]).toEqual([0, 0, 0.5]);
});
