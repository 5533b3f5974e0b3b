import { expect, test } from "vitest";
import type { CurveData } from "./api.js";
import { meanPoints, metricTitle, pointsOf } from "./curve-points.js";

const curve = (domain: string | null, steps: number[], values: (number | null)[], split = "in"): CurveData => ({
  ...{ model: "current", domain, split, metric: "accuracy", steps, values },
});

test("points are scaled and sorted; values that are not finite are skipped, and of two values of a step the last counts", () => {
  expect(pointsOf(curve("a", [100, 0, 200, 100], [0.5, 0.25, null, 0.75]), 100)).toEqual([
    { x: 0, y: 25 },
    { x: 100, y: 75 },
  ]);
});

test("a mean over domains has the steps at which all have a value", () => {
  const curves = [
    curve("a", [0, 100, 200], [0.2, 0.4, 0.6]),
    curve("b", [0, 200], [0.4, 1]),
    curve("b", [100], [9], "out"),
  ];
  const wanted = { metric: "accuracy", model: "current", domains: ["a", "b"], split: "in" };
  const points = meanPoints({ id: "run", curves, notes: [] }, wanted);
  expect(points.map(({ x }) => x)).toEqual([0, 200]);
  expect(points.map(({ y }) => y)).toEqual([expect.closeTo(0.3, 12), expect.closeTo(0.8, 12)]);
  expect(meanPoints({ id: "run", curves, notes: [] }, { ...wanted, domains: [] })).toEqual([]);
  expect(meanPoints({ id: "run", curves, notes: [] }, { ...wanted, domains: ["a", "c"] })).toEqual([]);
});

test("metrics have names for people", () => {
  expect([metricTitle("centredStableRank"), metricTitle("my-own")]).toEqual(["Stable rank, centred", "my-own"]);
  expect(metricTitle("probeC")).toBe("C of the exact probe");
});
