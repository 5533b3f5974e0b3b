import { expect, test } from "vitest";
import { evaluation, median } from "./evaluation.js";
import { judgedAs } from "./judged.fixture.js";

const placed = (domain: string, percentile: number | null, predicted = 0) => ({
  ...judgedAs(0, predicted, 0.8, { domain }),
  percentile,
});

test("a domain's distance is its middle picture's", () => {
  const pictures = [placed("a", 0.1), placed("a", 0.5, 1), placed("a", 0.9), placed("b", 1)];
  const { domains, overall, confusion } = evaluation(pictures, ["x", "y"]);
  expect(domains).toMatchObject([
    { domain: "a", count: 3, right: 2, percentile: 0.5 },
    { domain: "b", count: 1, percentile: 1 },
  ]);
  expect(overall.accuracy).toBe(0.75);
  expect(confusion).toEqual([[3, 1], [0, 0]]); // biome-ignore format: a matrix
});

test("without a distance score there is no distance", () => {
  expect(evaluation([placed("a", null)], ["x"]).domains[0].percentile).toBe(null);
});

test("the median of an even number is the upper of the two in the middle, and of nothing none", () => {
  expect([median([4, 1, 3, 2]), median([7]), median([])]).toEqual([3, 7, null]);
});
