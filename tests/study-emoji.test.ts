/** The result of docs/study-emoji.md on made-up runs whose answer is known, and the power of its test. */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunRecord } from "../src/records/record.js";
import { HELD_OUT, TRIALS } from "../studies/emoji/design.mjs";
import { equivalencePower, power } from "../studies/power.mjs";
import { inFolder, writeRun } from "./support/run-folders.js";

const result = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
  spawnSync(process.execPath, [join(import.meta.dirname, "../studies/emoji/result.mjs"), ...args], {
    encoding: "utf8",
  });

const PENALTIES: Readonly<Record<string, string[]>> = {
  ERM: [],
  "ERM-NU": ["nuclear-norm"],
  "ERM-FRO": ["frobenius-norm"],
};

interface Made {
  readonly method: string;
  /** On new emoji in the held-out style, in points above 60 %, in a trial. */
  readonly gain: (trial: number) => number;
  readonly norm?: number;
  readonly trials?: readonly number[];
}

/** Runs of four evaluations; the values of the first half of training must not count. SWAD's average is one point above. */
function write(folder: string, { method, gain, norm = 100, trials = TRIALS }: Made): void {
  for (const trial of trials)
    for (const style of HELD_OUT) {
      const row = (step: number, model: string, split: "in" | "out", value: number): RunRecord => ({
        ...{ step, model, domain: style, split, metric: "accuracy" },
        value: step < 750 ? 0.1 : value,
      });
      const fresh = 0.6 + gain(trial) / 100;
      const records = [0, 500, 1000, 1500].flatMap((step): RunRecord[] => [
        row(step, "current", "out", 0.8),
        row(step, "current", "in", fresh),
        { step, model: "current", domain: null, split: "out", metric: "frobeniusNorm", value: step < 750 ? 7 : norm },
      ]);
      records.push(row(1500, "swad", "out", 0.8), row(1500, "swad", "in", fresh + 0.01));
      const settings = {
        ...{ dataset: "emoji", domains: [...HELD_OUT, "noto"], testDomains: [style], trialSeed: trial },
        regularizers: PENALTIES[method].map((id) => ({ id, settings: {} })),
      };
      const run = writeRun(join(folder, `${method}-${style}-${trial}`), { settings, records });
      writeFileSync(join(run, "environment.json"), JSON.stringify({ commit: "0123456789ab" }));
    }
}

/** Alternates by half a point around the gain: over ten trials the standard deviation is 0.527 points. */
const about =
  (gain: number) =>
  (trial: number): number =>
    gain + (trial % 2 === 0 ? 0.5 : -0.5);

function writeStudy(folder: string, { norm = 101 } = {}): void {
  write(folder, { method: "ERM", gain: () => 0 });
  write(folder, { method: "ERM-NU", gain: about(1) });
  write(folder, { method: "ERM-FRO", gain: () => 1, norm });
}

const rowsOf = (text: string, title: string): string[][] =>
  text
    .split("\n")
    .filter((line) => line.startsWith(`| ${title}`))
    .map((line) => line.slice(2, -2).split(" | "));

test("the primary comparison has its interval over ten trials and the verdict of the design", () => {
  inFolder((folder) => {
    writeStudy(folder);
    const { stdout, stderr } = result(folder);
    expect(stderr).toBe("");
    // Student's interval: 1 ± 2.262 · 0.527 / √10.
    expect(rowsOf(stdout, "ERM-NU − ERM ")[0].slice(0, 6)).toEqual([
      ...["ERM-NU − ERM", "+1.00", "+0.62 … +1.38", "< 0.001", "primary", "supported"],
    ]);
    expect(rowsOf(stdout, "ERM-NU − ERM-FRO")[0].slice(1, 3)).toEqual(["0.00", "-0.38 … +0.38"]);
    expect(rowsOf(stdout, "SWAD-NU − SWAD")[0].slice(0, 3)).toEqual(["SWAD-NU − SWAD", "+1.00", "+0.62 … +1.38"]);
    expect(rowsOf(stdout, "ERM ")[0].slice(-2)).toEqual(["60.0", "80.0"]);
    expect(rowsOf(stdout, "SWAD ")[0].slice(-2)).toEqual(["61.0", "80.0"]);
    expect(stdout).toContain("‖F‖_F of ERM-FRO is +1.0 % beside that of ERM-NU");
    expect(stdout).toContain("standard deviation of 0.53 points");
    expect(stdout).toContain("Commits of the program: 0123456789ab.");
  });
});

test("comparisons with FRO are not counted if its scale is not that of NU", () => {
  inFolder((folder) => {
    writeStudy(folder, { norm: 110 });
    const { stdout } = result(folder);
    expect(rowsOf(stdout, "ERM-NU − ERM-FRO")[0][5]).toBe("(undecided)");
    expect(stdout).toContain("failed, so its comparisons are not counted");
  });
});

test("no mean is printed before the last run is finished", () => {
  inFolder((folder) => {
    writeStudy(folder);
    writeRun(join(folder, "ERM-twemoji-10"), { done: false });
    spawnSync("rm", [join(folder, "ERM-twemoji-10", "done")]);
    const { status, stdout, stderr } = result(folder);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("2 of 200 results are missing, such as ERM 10 twemoji");
  });
});

test("secondary runs have differences and no verdict", () => {
  inFolder((folder) => {
    write(folder, { method: "ERM", gain: () => 0, trials: [1, 2, 3] });
    write(folder, { method: "ERM-NU", gain: about(1), trials: [1, 2, 3] });
    const { stdout } = result(folder, "--trials", "3");
    expect(stdout).not.toContain("supported");
    expect(rowsOf(stdout, "ERM-NU − ERM")[0].slice(0, 2)).toEqual(["ERM-NU − ERM", "+0.83"]);
  });
});

test("the power is that of the noncentral t distribution", () => {
  // scipy.stats.nct, version 1.10
  const cases = [
    { difference: 1, deviation: 1.07, trials: 10, expected: 0.7488 },
    { difference: 1, deviation: 1.07, trials: 5, expected: 0.3604 },
    { difference: 0.4, deviation: 1.07, trials: 3, expected: 0.0692 },
    { difference: 0, deviation: 1, trials: 4, expected: 0.05 },
  ];
  for (const { expected, ...given } of cases) expect(power(given)).toBeCloseTo(expected, 4);
});

test("the power of equivalence is the exact one", () => {
  // scipy.integrate.quad over scipy.stats.chi, version 1.10
  expect(equivalencePower({ margin: 0.5, deviation: 0.576, trials: 5 })).toBeCloseTo(0.18587, 4);
});
