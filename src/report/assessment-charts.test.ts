import { expect, test } from "vitest";
import { abstention } from "../analysis/abstention.js";
import { calibration } from "../analysis/calibration.js";
import { judgedAs } from "../analysis/judged.fixture.js";
import { abstentionChart, confusionChart, reliabilityChart } from "./assessment-charts.js";

test("the matrix has a cell for every pair and a number for every count that is not zero", () => {
  const svg = confusionChart([[3, 1], [0, 12]], ["a<b", "c"])!; // biome-ignore format: a matrix
  expect(svg.match(/<rect /g)).toHaveLength(1 + 4); // the background and the cells
  expect([...svg.matchAll(/>(\d+)<\/text>/g)].map(([, count]) => count)).toEqual(["3", "1", "12"]);
  expect(svg).toContain("a&lt;b");
});

test("a class without pictures is drawn without shade, and too many classes not at all", () => {
  const svg = confusionChart([[0, 0], [0, 1]], ["a", "b"])!; // biome-ignore format: a matrix
  expect(svg.match(/fill-opacity/g)).toHaveLength(1);
  const many = Array.from({ length: 41 }, (_, i) => `class ${i}`);
  expect(
    confusionChart(
      many.map(() => many.map(() => 1)),
      many,
    ),
  ).toBe(null);
});

test("calibration and abstention are drawn from few pictures as from many", () => {
  for (const pictures of [
    [judgedAs(0, 0, 1)],
    Array.from({ length: 300 }, (_, i) => judgedAs(0, i % 3 === 0 ? 1 : 0, 0.5 + i / 700)),
  ]) {
    expect(reliabilityChart(calibration(pictures))).toContain("expected calibration error");
    expect(abstentionChart(abstention(pictures))).toMatch(/^<svg /);
  }
});
