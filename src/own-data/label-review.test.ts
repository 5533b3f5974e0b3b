import { expect, test } from "vitest";
import { foldsOf } from "./label-review.js";

const labels = Array.from({ length: 60 }, (_, i) => i % 2);
const none = labels.map(() => undefined);
const counts = (folds: readonly number[]): number[] =>
  [0, 1, 2, 3, 4].map((fold) => folds.filter((of) => of === fold).length);

test("each class is distributed evenly over the folds", () => {
  const folds = foldsOf(labels, none, 0);
  for (const label of [0, 1]) expect(counts(folds.filter((_, i) => labels[i] === label))).toEqual([6, 6, 6, 6, 6]);
});

test("near-duplicates are in one fold", () => {
  const groups = labels.map((label, i) => (i < 24 ? 2 * Math.floor(i / 6) + label : undefined)); // 8 groups of 3
  const folds = foldsOf(labels, groups, 0);
  for (let group = 0; group < 8; group++)
    expect(new Set(folds.filter((_, i) => groups[i] === group)).size, `group ${group}`).toBe(1);
  expect(foldsOf(labels, none, 0).some((fold, i) => groups[i] === 0 && fold !== folds[0])).toBe(true);
  expect(Math.min(...counts(folds))).toBeGreaterThan(5);
});
