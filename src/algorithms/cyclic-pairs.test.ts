import { expect, test } from "vitest";
import { cyclicPairs } from "./cyclic-pairs.js";

test("each item is first once and second once, in the order given", () => {
  expect(cyclicPairs(["a", "b", "c"], [2, 0, 1])).toEqual([["c", "a"], ["a", "b"], ["b", "c"]]); // biome-ignore format: pairs
  expect(cyclicPairs(["a"], [0])).toEqual([["a", "a"]]);
});
