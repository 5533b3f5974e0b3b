import { expect, test } from "vitest";
import { loneClassNotes, smallClassNotes } from "./class-notes.js";
import type { Dataset } from "./dataset.js";

/** A dataset with so many pictures of each class in each domain. */
function counted(classes: readonly string[], counts: Record<string, readonly number[]>): Dataset {
  const domains = Object.entries(counts).map(([name, each]) => ({
    name,
    labels: Int32Array.from(each.flatMap((count, label) => new Array<number>(count).fill(label))),
  }));
  return { classes, domains } as unknown as Dataset;
}

test("a class that only one domain has is reported, with the effect of holding that domain out", () => {
  const dataset = counted(["cat", "dog", "fox", "owl"], { a: [9, 9, 9, 9], b: [9, 9, 0, 0], c: [9, 0, 0, 0] });
  expect(loneClassNotes(dataset)).toEqual([
    '"fox", "owl" are classes of domain "a" only: if that domain is held out, no model can learn them, and all their pictures count as wrong',
  ]);
  expect(loneClassNotes(counted(["cat"], { b: [9], c: [0] }))[0]).toMatch(
    /^"cat" is a class of domain "b" only: .* it, and all its/,
  );
});

test("one domain holds nothing back from another, and shared classes need no word", () => {
  expect(loneClassNotes(counted(["cat", "dog"], { all: [9, 1] }))).toEqual([]);
  expect(loneClassNotes(counted(["cat", "dog"], { a: [9, 9], b: [9, 9] }))).toEqual([]);
});

test("classes with few pictures are reported, counted over all domains", () => {
  const dataset = counted(["cat", "dog", "fox"], { a: [3, 1, 50], b: [2, 2, 50] });
  expect(smallClassNotes(dataset)).toEqual([
    '1 class with fewer than 5 pictures, too few to train or evaluate on: "dog" (3)',
  ]);
  const many = Array.from({ length: 7 }, (_, i) => `c${i}`);
  expect(smallClassNotes(counted(many, { a: many.map(() => 1) }))[0]).toMatch(/"c4" \(1\) and 2 more$/);
});
