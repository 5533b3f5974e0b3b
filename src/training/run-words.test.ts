import { expect, test } from "vitest";
import { averageWords } from "./run-words.js";

test("an average is described by what it contains: steps, or the segments of SWAD", () => {
  expect(averageWords("wise-ft", { count: 2, from: 1, to: 2 })).toBe(
    "wise-ft: average of the weights after 2 steps, from step 1 to 2",
  );
  expect(averageWords("moving-average", { count: 1, from: 9, to: 9 })).toContain("after 1 step, from");
  expect(averageWords("swad", { count: 6, of: "segments", from: 1, to: 29 })).toBe(
    "swad: average of 6 means of the weights between two evaluations (as in SWAD's code, some can count twice), from step 1 to 29",
  );
});
