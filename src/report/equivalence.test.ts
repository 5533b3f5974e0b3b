import { join } from "node:path";
import { expect, test } from "vitest";
import { nuclearNormOn, pacsDomains } from "../../tests/support/report-runs.js";
import { inFolder, writeRun } from "../../tests/support/run-folders.js";
import type { RunRecord } from "../records/record.js";
import { summarizeTrials } from "../selection/trial-statistics.js";
import { equivalenceTables, testEquivalence } from "./equivalence.js";
import { reportFigures } from "./figures.js";
import type { CorrectedDifference, PairedComparison } from "./paired.js";
import { readResults } from "./read-results.js";
import { makeReport } from "./report.js";

/** Five trials within about a tenth of a point of a mean, in points. */
const rowOf = (title: string, mean: number): CorrectedDifference => ({
  ...{ dataset: "pacs", domain: null, title, pairs: 20, corrected: null },
  ...summarizeTrials([-0.2, -0.1, 0, 0.1, 0.2].map((off) => (mean + off) / 100)),
});

const comparison = (first: string, chosen: number, late: number): PairedComparison => ({
  ...{ first, second: "ERM", notes: [], own: false, asked: true },
  rows: [{ ...rowOf("PACS A", chosen), domain: "art_painting" }, rowOf("PACS, 4 of 4 domains", chosen)],
  late: [rowOf("PACS, second half of training", late)],
});

test("a method is equivalent where the 90 % interval lies inside the margin, for late training and for chosen steps", () => {
  const tested = testEquivalence([comparison("ERM-NU", 0.4, 0.1), comparison("SAM", 0, 2)], 0.005);
  expect(tested.rows.map(({ first, outcome, inside, verdict }) => [first, outcome, inside, verdict])).toEqual([
    ["ERM-NU", "second half of training", true, "equivalent"],
    ["SAM", "second half of training", false, "superior"],
    ["ERM-NU", "chosen steps", false, "superior"],
    ["SAM", "chosen steps", true, "equivalent"],
  ]);
  // The standard error is 0.0707 points, and t with four degrees of freedom is 2.1318: 0.1 ± 0.15.
  expect(tested.rows[0].interval).toEqual([expect.closeTo(-0.000507, 6), expect.closeTo(0.002507, 6)]);
  const [{ title, head, rows }, chosen] = equivalenceTables(tested);
  expect(title).toBe("Superiority, and equivalence within ±0.5 points: second half of training");
  expect(head.slice(4)).toEqual(["verdict", "95% interval", "p ≠ 0", "Holm", "90% interval", "p ±0.5", "Holm"]);
  expect(rows[0]).toEqual([
    ...["ERM-NU", "PACS", "+0.10", "5", "equivalent", "-0.10 … +0.30", "0.230", "0.230"],
    ...["-0.05 … +0.25", "0.002", "0.005"],
  ]);
  expect(chosen.title).toMatch(/: chosen steps$/);
  expect(chosen.rows.map((row) => row[4])).toEqual(["superior", "equivalent"]);
});

test("a small difference can be superior and equivalent, and a large one below zero is inferior", () => {
  const { rows } = testEquivalence([comparison("SAM", 0.25, -1)], 0.005);
  expect(rows.map(({ verdict }) => verdict)).toEqual(["inferior", "superior, equivalent"]);
});

test("inside by its own interval is not enough where there are many", () => {
  const many = Array.from({ length: 6 }, (_, i) => comparison(`M${i}`, 0.34, 0.34));
  const { rows } = testEquivalence(many, 0.005);
  for (const { inside, corrected, verdict } of rows) {
    expect([inside, verdict]).toEqual([true, "undecided"]);
    expect(corrected).toBeGreaterThan(0.05);
  }
});

test("one trial shows nothing", () => {
  const single = { ...rowOf("PACS, 4 of 4 domains", 0), ...summarizeTrials([0]) };
  const tested = testEquivalence([{ ...comparison("SAM", 0, 0), rows: [single], late: [] }], 0.005);
  const [{ rows }, ...others] = equivalenceTables(tested);
  expect(others).toEqual([]);
  expect(rows).toEqual([
    ["SAM", "PACS, 4 of 4 domains", "0.00", "1", "– (needs two trials)", "–", "–", "–", "–", "–", "–"],
  ]);
});

/** Accuracy in points by trial, from trial 3 on: SAM has 14 trials and ERM has five. */
const erm = [70, 71, 69.5, 70.5, 72];
const plus = (values: readonly number[], differences: readonly number[]): number[] =>
  values.map((value, i) => value + differences[i]);
const sam = [...plus(erm, [0.5, -0.9, 1.2, 0.1, 0.4]), 60, 80, 61, 79, 62, 78, 63, 77, 64];
const samGain = [0.1, -0.3, 0.2, 0.6, -0.5, 0, 0.4, -0.2, 0.3, -0.6, 0.5, 0.1, -0.1, 0.2];
const METHODS = [
  { algorithm: "erm", regularizers: [], accuracies: erm },
  { algorithm: "erm", regularizers: nuclearNormOn, accuracies: plus(erm, [1.6, 1.9, 2.2, 1.4, 1.7]) },
  { algorithm: "sam", regularizers: [], accuracies: sam },
  { algorithm: "sam", regularizers: nuclearNormOn, accuracies: plus(sam, samGain) },
];

/** Evaluations that differ by a point around the accuracy, so that only their mean late in training is the accuracy. */
function writeTrials(folder: string): void {
  for (const { algorithm, regularizers, accuracies } of METHODS)
    for (const [i, accuracy] of accuracies.entries())
      for (const heldOut of pacsDomains) {
        const records = [0, 100, 200, 300, 400, 500, 600].flatMap((step) =>
          pacsDomains.map((domain): RunRecord => {
            const late = accuracy / 100 + (step % 200 === 0 ? 0.01 : -0.01);
            const value = domain !== heldOut ? 0.9 : step < 300 ? 0.5 : late;
            return { step, model: "current", domain, split: "in", metric: "accuracy", value };
          }),
        );
        const validation = records.map((record): RunRecord => ({ ...record, split: "out" }));
        const settings = {
          ...{ dataset: "pacs", domains: pacsDomains, testDomains: [heldOut], trialSeed: 3 + i, averaging: [] },
          ...{ algorithm, regularizers, steps: 601, evaluateEvery: 100, holdout: 0.2 },
        };
        const name = `${algorithm}-${regularizers.length}-${heldOut}-${3 + i}`;
        writeRun(join(folder, name), { settings, records: [...records, ...validation] });
      }
}

test("each comparison uses the trials that both methods have, with SciPy's intervals and p-values", () => {
  const compare = [
    ["ERM-NU", "ERM"],
    ["SAM-NU", "SAM"],
    ["SAM", "ERM"],
  ] as const;
  const report = inFolder((folder) => {
    writeTrials(folder);
    return makeReport(readResults([folder]), { compare, equivalence: 0.005 });
  });
  const late = report.equivalence!.rows.filter(({ outcome }) => outcome === "second half of training");
  expect(late.map(({ trials, verdict }) => [trials, verdict])).toEqual([
    [5, "superior"],
    [14, "equivalent"],
    [5, "undecided"],
  ]);
  // SciPy 1.17: stats.t.interval, stats.ttest_1samp(d, 0) and the larger of its one-sided tests against ±0.5.
  const expected = [
    { at95: [1.3813434, 2.1386566], at90: [1.4692549, 2.0507451], p: 0.000207940089, equivalent: 0.999618509798 },
    { at95: [-0.1572524, 0.2572524], at90: [-0.1198924, 0.2198924], p: 0.610996487, equivalent: 0.000211112711 },
    { at95: [-0.6880656, 1.2080656], at90: [-0.4679562, 0.9879562], p: 0.488824469, equivalent: 0.260450691868 },
  ];
  for (const [i, { at95, at90, p, equivalent }] of expected.entries()) {
    const { interval, superiority, p: tested } = late[i];
    for (const k of [0, 1]) {
      expect(100 * superiority.interval![k]).toBeCloseTo(at95[k], 6);
      expect(100 * interval![k]).toBeCloseTo(at90[k], 6);
    }
    expect(superiority.p).toBeCloseTo(p, 8);
    expect(tested).toBeCloseTo(equivalent, 8);
  }
  // Holm's correction over the three rows: the larger two p-values have the corrected value of the second.
  expect(late[0].superiority.corrected).toBeCloseTo(3 * 0.000207940089, 9);
  for (const row of late.slice(1)) expect(row.superiority.corrected).toBeCloseTo(2 * 0.488824469, 7);
  expect(late[1].corrected).toBeCloseTo(3 * 0.000211112711, 9);
  expect(late[2].corrected).toBeCloseTo(2 * 0.260450692, 7);
  const svg = reportFigures(report).find(({ name }) => name === "equivalence")!.svg;
  const labels = [...svg.matchAll(/<text [^>]*>([^<]*)</g)].map(([, text]) => text);
  expect(labels).toEqual(expect.arrayContaining(["ERM-NU − ERM", "SAM-NU − SAM", "SAM − ERM", "undecided"]));
  // The band ends at half a point on either side of zero, and the intervals are centred on their points.
  const [, x, width] = /<rect x="([\d.]+)" [^>]*width="([\d.]+)" [^>]*fill="#eeeeee"/.exec(svg)!.map(Number);
  const point = (i: number): number => Number([...svg.matchAll(/<circle cx="([\d.]+)"/g)][i][1]);
  const perPoint = (point(0) - point(1)) / (1.76 - 0.05);
  expect(width).toBeCloseTo(perPoint, 0);
  expect(x + width / 2 + 0.05 * perPoint).toBeCloseTo(point(1), 0);
});
