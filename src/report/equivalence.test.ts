import { expect, test } from "vitest";
import { summarizeTrials } from "../selection/trial-statistics.js";
import { equivalenceTable, testEquivalence } from "./equivalence.js";
import type { PairedComparison, PairedDifference } from "./paired.js";

/** Five trials within about a tenth of a point of a mean, in points. */
const rowOf = (title: string, mean: number): PairedDifference => ({
  ...{ dataset: "pacs", domain: null, title, pairs: 20 },
  ...summarizeTrials([-0.2, -0.1, 0, 0.1, 0.2].map((off) => (mean + off) / 100)),
});

const comparison = (first: string, chosen: number, late: number): PairedComparison => ({
  ...{ first, second: "ERM", notes: [], own: false, asked: true },
  rows: [{ ...rowOf("PACS A", chosen), domain: "art_painting" }, rowOf("PACS, 4 of 4 domains", chosen)],
  late: [rowOf("PACS, second half of training", late)],
});

test("a method is equivalent where the 90 % interval lies inside the margin, for late training and for chosen steps", () => {
  const tested = testEquivalence([comparison("ERM-NU", 0.4, 0.1), comparison("SAM", 0, 2)], 0.005);
  expect(tested.rows.map(({ first, outcome, inside }) => [first, outcome, inside])).toEqual([
    ["ERM-NU", "second half of training", true],
    ["SAM", "second half of training", false],
    ["ERM-NU", "chosen steps", false],
    ["SAM", "chosen steps", true],
  ]);
  // The standard error is 0.0707 points, and t with four degrees of freedom is 2.1318: 0.1 ± 0.15.
  expect(tested.rows[0].interval).toEqual([expect.closeTo(-0.000507, 6), expect.closeTo(0.002507, 6)]);
  const { title, head, rows } = equivalenceTable(tested);
  expect(title).toBe("Equivalence within ±0.5 points");
  expect(head.slice(3, 5)).toEqual(["90% interval", "inside ±0.5"]);
  expect(rows[0]).toEqual([
    ...["ERM-NU", "PACS, second half of training", "+0.1", "-0.1 … +0.3", "yes", "5", "0.002", "0.005", "equivalent"],
  ]);
  expect(rows[1].slice(-1)).toEqual(["not shown"]);
});

test("inside by its own interval is not enough where there are many", () => {
  const many = Array.from({ length: 6 }, (_, i) => comparison(`M${i}`, 0.34, 0.34));
  const { rows } = equivalenceTable(testEquivalence(many, 0.005));
  for (const [, , , interval, inside, , , , verdict] of rows)
    expect([interval, inside, verdict]).toEqual(["+0.2 … +0.5", "yes", "not shown"]);
});

test("one trial shows nothing", () => {
  const single = { ...rowOf("PACS, 4 of 4 domains", 0), ...summarizeTrials([0]) };
  const { rows } = equivalenceTable(testEquivalence([{ ...comparison("SAM", 0, 0), rows: [single], late: [] }], 0.005));
  expect(rows).toEqual([
    ["SAM", "PACS, 4 of 4 domains, chosen steps", "0.0", "–", "–", "1", "–", "–", "– (needs two trials)"],
  ]);
});
