import { expect, test } from "vitest";
import { makeRun } from "../../tests/support/evaluated-runs.js";
import type { EvaluatedRun } from "../records/evaluated-run.js";
import { selectGroups } from "./across-hparams.js";
import { averageOf, cellOf, datasetCell, domainCell, formatAverage, formatCell, oneDecimal } from "./cells.js";
import { mean, standardError, sum } from "./mean.js";
import { trainingDomain } from "./training-domain.js";

test("a cell is the mean over trials with the standard error of the population", () => {
  expect(formatCell(cellOf([0.1, 0.2, 0.3]))).toBe("20.0 +/- 4.7");
  expect(formatCell(cellOf([0.1, 0.2, 0.3]), "$\\pm$")).toBe("20.0 $\\pm$ 4.7");
  expect(cellOf([0.1, 0.2, 0.3])!.error).toBeCloseTo(Math.sqrt(0.02 / 3 / 3), 15);
  expect(formatCell(cellOf([0.5]))).toBe("50.0 +/- 0.0");
  expect(formatCell(cellOf([]))).toBe("X");
  expect(formatCell(cellOf([Number.NaN, 0.5]))).toBe("nan +/- nan");
});

test("an average is of unrounded means, and there is none where a cell is empty", () => {
  const cells = [0.8504, 0.8504, 0.8517].map((value) => cellOf([value])); // rounded first they would be 85.0, 85.0, 85.2
  expect(averageOf(cells)).toBeCloseTo(0.850833, 6);
  expect(formatAverage(cells)).toBe("85.1");
  expect(averageOf([...cells, null])).toBeNull();
  expect(formatAverage([...cells, null])).toBe("X");
  expect(formatAverage([])).toBe("X");
});

test("one decimal is rounded as Python does: exact ties to the even digit", () => {
  const expected: [number, string][] = [
    [20.25, "20.2"],
    [20.75, "20.8"],
    [0.25, "0.2"],
    [0.75, "0.8"],
    [-0.25, "-0.2"],
    [99.95, "100.0"], // the double is just above
    [0.15, "0.1"], // the double is just below
    [85.45, "85.5"],
    [7, "7.0"],
    [Number.NaN, "nan"],
    [Number.POSITIVE_INFINITY, "inf"],
  ];
  for (const [value, text] of expected) expect(oneDecimal(value), String(value)).toBe(text);
});

test("sums are NumPy's to the last bit: in order, in eight lanes, by halves", () => {
  const values = (n: number): number[] =>
    Array.from({ length: n }, (_, i) => (((i + 1) * (i + 3) * 7919) % 1009) / 1009 / (1 + (i % 7)));
  const byNumpy = [
    1.5932228986738401, 2.4624003020435135, 2.9564538203784987, 4.23900136863467, 24.41072726414649, 24.58251451224692,
    56.35777998017839,
  ]; // numpy.sum, NumPy 1.24
  expect([7, 8, 9, 20, 128, 129, 300].map((n) => sum(values(n)))).toEqual(byNumpy);
  expect(sum([1e16, 1, 1])).toBe(1e16);
  expect(mean([])).toBeNaN();
  expect(standardError([0.5, 0.5])).toBe(0);
});

const trial = (
  testDomain: string,
  trialSeed: number,
  tested: number,
  more: Partial<EvaluatedRun> = {},
): EvaluatedRun => {
  const run = makeRun([testDomain], [{ a: [0, 0.5], b: [0, 0.5], c: [0, 0.5] }], { trialSeed, ...more });
  const accuracy = new Map([...run.evaluations[0].accuracy, [testDomain, { in: tested, out: 0.5 }]]);
  return { ...run, evaluations: [{ step: 0, accuracy }] };
};

test("cells of a table: by domain over trials, and over the domains there are within each trial", () => {
  const runs = [
    trial("a", 0, 0.1),
    trial("b", 0, 0.3),
    trial("a", 1, 0.5), // b is missing in trial 1
    trial("a", 0, 0.9, { dataset: "digits" }),
  ];
  const results = selectGroups(runs, trainingDomain);
  const row = { dataset: "letters", method: "erm" };
  expect(domainCell(results, { ...row, domain: "a" })!.values).toEqual([0.1, 0.5]);
  expect(domainCell(results, { ...row, domain: "b" })!.values).toEqual([0.3]);
  expect(domainCell(results, { ...row, domain: "c" })).toBeNull();
  expect(datasetCell(results, row)!.values).toEqual([0.2, 0.5]);
  expect(datasetCell(results, { ...row, method: "irm" })).toBeNull();
});
