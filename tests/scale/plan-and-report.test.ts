/**
 * Planning many runs, reporting on them and telling their status takes seconds and stays in memory. With NUDGE_LONG=1 there are 100,000 of them, which must
 * take less than 10 s and 1 GB on two cores; otherwise 2,000, within a fixed start and the same rate.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readPlan, sweepPaths } from "../../src/sweep/sweep-folder.js";
import { runChild } from "../support/child.js";
import { writeManyRuns } from "../support/many-runs.js";

const long = process.env.NUDGE_LONG !== undefined;
const COUNT = long ? 100_000 : 2_000;
/** Seconds: of the process's own time, since other tests run beside this one; a small sweep is mostly loading of modules. */
const BUDGET = long ? 10 : 5;
const MEMORY = 1e9;

const folder = mkdtempSync(join(tmpdir(), "nudge-scale-"));
// A hundred thousand folders take a while to delete.
afterAll(() => rmSync(folder, { recursive: true, force: true }), 600_000);

async function measure(what: "plan" | "report" | "status" | "pack", sweep: string) {
  const child = await runChild(new URL("plan-and-report.ts", import.meta.url), {
    args: [what, join(folder, sweep), String(COUNT)],
    timeout: 240_000,
  });
  expect([child.code, child.stderr]).toEqual([0, ""]);
  return JSON.parse(child.stdout) as { runs: number; seconds: number; cpu: number; bytes: number };
}

test(`${COUNT} runs are planned in seconds`, { timeout: 300_000 }, async () => {
  const { runs, cpu, bytes } = await measure("plan", "planned");
  expect(runs).toBeGreaterThanOrEqual(COUNT);
  expect(cpu).toBeLessThan(BUDGET);
  expect(bytes).toBeLessThan(MEMORY);
});

test(`${COUNT} runs are reported in seconds`, { timeout: 600_000 }, async () => {
  writeManyRuns(join(folder, "made"), { count: COUNT });
  const { runs, cpu, bytes } = await measure("report", "made");
  expect(runs).toBe(COUNT);
  expect(cpu).toBeLessThan(BUDGET);
  expect(bytes).toBeLessThan(MEMORY);
});

test(`${COUNT} runs are packed, and reported from the pack as fast as from their folders`, {
  timeout: 600_000,
}, async () => {
  const packed = await measure("pack", "made");
  expect(packed.runs).toBe(COUNT);
  expect(packed.cpu).toBeLessThan(12 * BUDGET); // compressing half a gigabyte
  expect(packed.bytes).toBeLessThan(MEMORY);
  const { runs, cpu, bytes } = await measure("report", "made.nudge");
  expect(runs).toBe(COUNT);
  expect(cpu).toBeLessThan(BUDGET);
  expect(bytes).toBeLessThan(MEMORY);
});

test(`the status of ${COUNT} runs is printed in seconds`, { timeout: 120_000 }, async () => {
  const made = sweepPaths(join(folder, "made"));
  const every = 10; // is not done, as if it had been stopped
  for (const [i, { name }] of readPlan(join(folder, "made")).entries())
    if (i % every === 0) rmSync(join(made.run(name), "done"));
  const { runs, cpu, bytes } = await measure("status", "made");
  expect(runs).toBe(COUNT - Math.ceil(COUNT / every));
  expect(cpu).toBeLessThan(BUDGET);
  expect(bytes).toBeLessThan(MEMORY);
});
