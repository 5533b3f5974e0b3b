import { expect, test } from "vitest";
import { nuclearNormOn, pacsDomains, writeMadeRun, writePacsSweep } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { type Pair, summarize } from "./paired.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report } from "./report.js";

/** Pairs of trials 0, 1, 2 … with these differences; null for a trial without one. */
const pairsOf = (...differences: (number | null)[]): Pair[] =>
  differences.flatMap((difference, trial) => (difference === null ? [] : [{ trial, difference }]));

test("trials are the unit: over domains the interval is that of the trials' means", () => {
  const [a, b] = [pairsOf(0.01, 0.05, 0.03), pairsOf(0.03, 0.01, 0.03)];
  // The means of the trials are 0.02, 0.03, 0.03. Treating six pairs as independent would give another interval.
  const { mean, trials, pairs, interval } = summarize([[a, b]]);
  expect(mean).toBeCloseTo(0.08 / 3, 12);
  expect([trials, pairs]).toEqual([3, 6]);
  expect(interval![1] - mean).toBeCloseTo(4.302653 * (0.01 / 3), 6);
});

test("domains weigh the same, and so do datasets", () => {
  const [ones, zeros] = [pairsOf(1, 1), pairsOf(0, 0)];
  expect(summarize([[ones, zeros]])).toMatchObject({ mean: 0.5, pairs: 4 });
  expect(summarize([[ones, ones], [zeros]])).toMatchObject({ mean: 0.5, trials: 2, pairs: 6 });
});

test("a trial that lacks a domain does not count, for it would be a mean of other domains", () => {
  const whole = pairsOf(0.1, 0.2, 0.9);
  const { mean, trials, pairs } = summarize([[whole, pairsOf(0.1, 0.2, null)]]);
  expect([mean, trials, pairs]).toEqual([expect.closeTo(0.15, 12), 2, 4]);
  const none = summarize([[pairsOf(0.1, null, null), pairsOf(null, 0.3, 0.5)]]);
  expect(none).toEqual({ mean: expect.closeTo(0.25, 12), trials: 0, error: null, interval: null, p: null, pairs: 3 });
});

test("a single pair has no interval", () => {
  expect(summarize([[pairsOf(0.1)]])).toEqual({ mean: 0.1, trials: 1, error: null, interval: null, p: null, pairs: 1 });
});

const reportOn = (write: (folder: string) => void, compare?: [string, string]): Report =>
  inFolder((folder) => {
    write(folder);
    return makeReport(readResults([folder]), compare && { compare: [compare] });
  });

test("a penalty is compared with the same method without, by domain and over all", () => {
  const { comparisons } = reportOn(writePacsSweep);
  expect(comparisons).toHaveLength(1);
  const [{ first, second, rows }] = comparisons;
  expect([first, second]).toEqual(["ERM-NU", "ERM"]);
  expect(rows.map(({ title }) => title)).toEqual(["PACS A", "PACS C", "PACS P", "PACS S", "PACS, 4 of 4 domains"]);
  for (const [i, expected] of [0.01, 0.02, 0.03, 0.04, 0.025].entries()) expect(rows[i].mean).toBeCloseTo(expected, 12);
  expect(rows.map(({ pairs }) => pairs)).toEqual([3, 3, 3, 3, 12]);
  // The gain on every domain grows by half a point from trial to trial: the means of the trials are 0.020, 0.025, 0.030.
  const half = 4.302653 * (0.005 / Math.sqrt(3));
  expect(rows[4].interval).toEqual([expect.closeTo(0.025 - half, 6), expect.closeTo(0.025 + half, 6)]);
  expect(rows[4].trials).toBe(3);
});

test("two methods are compared in the other order on request, with any spelling", () => {
  const [{ first, rows }] = reportOn(writePacsSweep, ["erm", "erm-nu"]).comparisons;
  expect(first).toBe("ERM");
  expect(rows[4].mean).toBeCloseTo(-0.025, 12);
  expect(() => reportOn(writePacsSweep, ["erm", "emr-nu"])).toThrow('did you mean "ERM-NU"?');
});

test("runs on different splits are not paired, with a note", () => {
  const { comparisons } = reportOn((folder) => {
    pacsDomains.slice(0, 2).forEach((heldOut, i) => {
      const made = { heldOut, trial: 0, accuracy: 0.5 };
      writeMadeRun(folder, { ...made, settings: { splitHash: "aa" } });
      writeMadeRun(folder, { ...made, regularizers: nuclearNormOn, settings: { splitHash: i === 0 ? "aa" : "bb" } });
    });
  });
  expect(comparisons[0].rows.map(({ title }) => title)).toEqual(["PACS A", "PACS, 1 of 4 domains"]);
  expect(comparisons[0].notes).toEqual(["PACS, cartoon, trial 0: not compared, because the splits differ (bb and aa)"]);
});

test("what was set by hand besides the penalty's own settings must be the same in both", () => {
  const withGiven = (folder: string, given: [Record<string, number>, Record<string, number>]): void => {
    const made = { heldOut: "sketch", trial: 0, accuracy: 0.5 };
    writeMadeRun(folder, { ...made, settings: { fixed: given[0] } });
    writeMadeRun(folder, { ...made, regularizers: nuclearNormOn, settings: { fixed: given[1] } });
  };
  const weight = { "nuclear-norm.weight": 0.03 };
  const titlesOf = (given: [Record<string, number>, Record<string, number>]): string[] =>
    reportOn((folder) => withGiven(folder, given)).comparisons.map(({ first, second }) => `${first} | ${second}`);
  expect(titlesOf([{ steps: 9 }, { steps: 9, ...weight }])).toEqual(["ERM-NU [weight=0.03] | ERM"]);
  expect(titlesOf([{ steps: 9 }, weight])).toEqual([]);
});

test("trials with a run missing are named", () => {
  const { comparisons } = reportOn((folder) => {
    for (const trial of [0, 1, 2])
      for (const heldOut of pacsDomains) {
        writeMadeRun(folder, { heldOut, trial, accuracy: 0.5 });
        if (trial === 1 && heldOut === "photo") continue;
        const accuracy = 0.51 + trial / 100;
        writeMadeRun(folder, { heldOut, trial, accuracy, regularizers: nuclearNormOn });
      }
  });
  const [{ rows, notes }] = comparisons;
  expect(rows.map(({ trials }) => trials)).toEqual([3, 3, 2, 3, 2]);
  expect(rows[4].mean).toBeCloseTo(0.02, 12);
  expect(notes).toEqual(["PACS, 4 of 4 domains: trial 1 does not count, because runs are missing in it"]);
});
