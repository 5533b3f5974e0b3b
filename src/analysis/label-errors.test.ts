import { expect, test } from "vitest";
import { likelyLabelErrors } from "./label-errors.js";

test("a picture is likely of another class where that class's own threshold is reached", () => {
  const rows = [
    [0.9, 0.1],
    [0.8, 0.2],
    [0.05, 0.95], // labelled 0: the threshold of 1 is three quarters of the mean of 0.9 and 0.7, 0.6
    [0.1, 0.9],
    [0.3, 0.7],
    [0.45, 0.55], // labelled 0, and more likely 1, but below 1's threshold
  ];
  const found = likelyLabelErrors(rows, [0, 0, 0, 1, 1, 0], 2);
  expect(found).toEqual([{ place: 2, suggested: 1, probability: 0.95, given: 0.05 }]);
});

test("the worst classes come first, and classes without pictures give no suggestion", () => {
  const rows = [[0.5, 0.5, 0], [0.1, 0.9, 0], [0.2, 0.8, 0], [0, 0.05, 0.95], [0.4, 0.6, 0]]; // biome-ignore format: rows
  const found = likelyLabelErrors(rows, [0, 0, 0, 1, 1], 3);
  expect(found.map(({ place }) => place)).toEqual([1, 2]);
  expect(found.every(({ suggested }) => suggested === 1)).toBe(true);
});
