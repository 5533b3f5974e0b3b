import { expect, test } from "vitest";
import { abstention, accuracyAt } from "./abstention.js";
import { judgedAs } from "./judged.fixture.js";

const pictures = [judgedAs(0, 0, 0.9), judgedAs(0, 0, 0.8), judgedAs(0, 1, 0.7), judgedAs(0, 0, 0.6)];

test("the curve answers for the surest first", () => {
  const { curve, area } = abstention(pictures);
  expect(curve.map(({ coverage, accuracy }) => [coverage, accuracy])).toEqual([
    [0.25, 1],
    [0.5, 1],
    [0.75, 2 / 3],
    [1, 0.75],
  ]);
  expect(area).toBeCloseTo((0 + 0 + 1 / 3 + 1 / 4) / 4, 12);
});

test("a perfect order leaves the mistakes to the last", () => {
  const { bestArea } = abstention(pictures);
  expect(bestArea).toBeCloseTo((0 + 0 + 0 + 1 / 4) / 4, 12);
  const perfect = [...pictures.slice(0, 2), judgedAs(0, 0, 0.7), judgedAs(0, 1, 0.6)];
  expect(abstention(perfect).area).toBeCloseTo(bestArea, 12);
});

test("pictures of one confidence are answered for together", () => {
  const { curve } = abstention([judgedAs(0, 0, 0.8), judgedAs(0, 1, 0.8), judgedAs(0, 0, 0.5)]);
  expect(curve.map(({ count, accuracy }) => [count, accuracy])).toEqual([
    [2, 0.5],
    [3, 2 / 3],
  ]);
});

test("many thresholds are thinned, and the end stays", () => {
  const many = Array.from({ length: 1234 }, (_, i) => judgedAs(0, i % 3 === 0 ? 1 : 0, 1 - i / 2000));
  const { curve } = abstention(many);
  expect(curve).toHaveLength(100);
  expect(curve.at(-1)).toMatchObject({ coverage: 1, count: 1234 });
});

test("the accuracy at a coverage is the curve's", () => {
  expect(accuracyAt(pictures, 0.5)).toMatchObject({ count: 2, accuracy: 1, threshold: 0.8 });
  expect(accuracyAt(pictures, 0.51)).toMatchObject({ count: 3, accuracy: 2 / 3 });
  expect(accuracyAt(pictures, 1).accuracy).toBe(0.75);
  expect(() => accuracyAt(pictures, 0)).toThrow("expected a coverage above 0");
  expect(() => accuracyAt([], 1)).toThrow("at least one picture");
});
