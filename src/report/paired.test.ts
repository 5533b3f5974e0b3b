import { expect, test } from "vitest";
import { nuclearNormOn, pacsDomains, writeMadeRun, writePacsSweep } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { summarize } from "./paired.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report } from "./report.js";

test("the interval is the percentiles of resampled means: for three values, those of all 27 resamples", () => {
  const values = [0.01, 0.02, 0.06];
  const { mean, interval, pairs } = summarize([[values]], ["test"]);
  expect(mean).toBeCloseTo(0.03, 12);
  expect(pairs).toBe(3);
  // 1 of 27 resamples (3.7%) is all lowest, 1 all highest: both ends of 95% lie on them.
  expect(interval![0]).toBeCloseTo(0.01, 12);
  expect(interval![1]).toBeCloseTo(0.06, 12);
});

test("over many trials the interval is that of the normal distribution", () => {
  const values = Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? 0.9 : 1.1));
  const [low, high] = summarize([[values]], ["test"]).interval!;
  // standard error 0.1/20 = 0.005; 1.96 of them, give or take what 10,000 resamples leave open
  expect(Math.abs(low - (1 - 1.96 * 0.005))).toBeLessThan(5e-4);
  expect(Math.abs(high - (1 + 1.96 * 0.005))).toBeLessThan(5e-4);
});

test("domains weigh the same whatever their number of trials, and so do datasets", () => {
  expect(
    summarize(
      [
        [
          [1, 1, 1, 1],
          [0, 0],
        ],
      ],
      ["test"],
    ).mean,
  ).toBe(0.5);
  expect(
    summarize(
      [
        [
          [1, 1],
          [1, 1],
        ],
        [[0, 0]],
      ],
      ["test"],
    ),
  ).toEqual({ mean: 0.5, interval: [0.5, 0.5], pairs: 6 });
});

test("the same runs give the same interval, and a single pair gives none", () => {
  const values = [0.1, 0.4, 0.2, 0.7];
  expect(summarize([[values]], ["a"])).toEqual(summarize([[values]], ["a"]));
  expect(summarize([[[0.1]]], ["a"])).toEqual({ mean: 0.1, interval: null, pairs: 1 });
});

const reportOn = (write: (folder: string) => void, compare?: [string, string]): Report =>
  inFolder((folder) => {
    write(folder);
    return makeReport(readResults([folder]), { compare });
  });

test("a penalty is compared with the same method without, by domain and over all", () => {
  const { comparisons } = reportOn(writePacsSweep);
  expect(comparisons).toHaveLength(1);
  const [{ first, second, rows }] = comparisons;
  expect([first, second]).toEqual(["ERM-NU", "ERM"]);
  expect(rows.map(({ title }) => title)).toEqual(["PACS A", "PACS C", "PACS P", "PACS S", "PACS, 4 of 4 domains"]);
  for (const [i, expected] of [0.01, 0.02, 0.03, 0.04, 0.025].entries()) expect(rows[i].mean).toBeCloseTo(expected, 12);
  expect(rows.map(({ pairs }) => pairs)).toEqual([3, 3, 3, 3, 12]);
  const [low, high] = rows[4].interval!;
  expect(low).toBeLessThan(0.025);
  expect(low).toBeGreaterThan(0.02);
  expect(high - 0.025).toBeCloseTo(0.025 - low, 2);
});

test("two methods are compared the other way round on request, by any spelling", () => {
  const [{ first, rows }] = reportOn(writePacsSweep, ["erm", "erm-nu"]).comparisons;
  expect(first).toBe("ERM");
  expect(rows[4].mean).toBeCloseTo(-0.025, 12);
  expect(() => reportOn(writePacsSweep, ["erm", "emr-nu"])).toThrow('did you mean "ERM-NU"?');
});

test("runs on different splits are no pair, which is told", () => {
  const { comparisons } = reportOn((folder) => {
    pacsDomains.slice(0, 2).forEach((heldOut, i) => {
      const made = { heldOut, trial: 0, accuracy: 0.5 };
      writeMadeRun(folder, { ...made, settings: { splitHash: "aa" } });
      writeMadeRun(folder, { ...made, regularizers: nuclearNormOn, settings: { splitHash: i === 0 ? "aa" : "bb" } });
    });
  });
  expect(comparisons[0].rows.map(({ title }) => title)).toEqual(["PACS A", "PACS, 1 of 4 domains"]);
  expect(comparisons[0].notes).toEqual(["PACS, cartoon, trial 0: not a pair: the splits differ (bb and aa)"]);
});

test("what was set by hand besides the penalty's own settings must be the same in both", () => {
  const withGiven = (folder: string, given: [Record<string, number>, Record<string, number>]): void => {
    const made = { heldOut: "sketch", trial: 0, accuracy: 0.5 };
    writeMadeRun(folder, { ...made, settings: { given: given[0] } });
    writeMadeRun(folder, { ...made, regularizers: nuclearNormOn, settings: { given: given[1] } });
  };
  const weight = { "nuclear-norm.weight": 0.03 };
  const titlesOf = (given: [Record<string, number>, Record<string, number>]): string[] =>
    reportOn((folder) => withGiven(folder, given)).comparisons.map(({ first, second }) => `${first} | ${second}`);
  expect(titlesOf([{ steps: 9 }, { steps: 9, ...weight }])).toEqual(["ERM-NU [weight=0.03] | ERM"]);
  expect(titlesOf([{ steps: 9 }, weight])).toEqual([]);
});
