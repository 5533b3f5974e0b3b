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

test("weights change what counts: here each of two classes counts the same, whatever its number of pictures", () => {
  // Nine pictures of one class and one of another: the first candidate gets the nine right, the second the one and eight.
  const rare = [...ones(9, 9), 0];
  const both = [...ones(8, 9), 1];
  const weights = [[...Array.from({ length: 9 }, () => 1), 9]];
  const { best, scores } = simplestWithinError([[rare], [both]], weights);
  expect(best).toBe(1);
  expect(scores.map(({ mean }) => mean)).toEqual([expect.closeTo(0.5, 12), expect.closeTo((8 / 9 + 1) / 2, 12)]);
  // Differences 0 (eight times), -1 and 1, whose weighted mean is 4/9.
  const squares = 8 * (4 / 9 / 18) ** 2 + (13 / 9 / 18) ** 2 + (5 / 9 / 2) ** 2;
  expect(scores[0].error).toBeCloseTo(Math.sqrt((squares * 10) / 9), 12);
});
