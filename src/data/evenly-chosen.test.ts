import { expect, test } from "vitest";
import { evenlyChosen } from "./evenly-chosen.js";

test("some are chosen evenly, all where they are few, none twice", () => {
  expect(evenlyChosen([0, 1, 2, 3, 4, 5, 6], 3)).toEqual([0, 2, 4]);
  expect(evenlyChosen([0, 1], 3)).toEqual([0, 1]);
  expect(evenlyChosen([], 3)).toEqual([]);
  const many = evenlyChosen(
    Array.from({ length: 1000 }, (_, i) => i),
    999,
  );
  expect(new Set(many).size).toBe(999);
});
