/** Sweeps on disk, made by hand. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type PlannedRun, sweepPaths, writePlan } from "../../src/sweep/sweep-folder.js";

/** The n-th run of a plan made up here. */
export function madeUpRun(n: number): PlannedRun {
  const id = (0x1000_0000 + n).toString(16).padEnd(16, "0");
  const domain = ["photo", "sketch"][n % 2];
  return {
    id,
    name: `${id}-pacs-${domain}-erm-trial${n >> 1}`,
    title: `pacs · ${domain} held out · ERM · steps=30 · trial ${n >> 1}`,
    request: { data: "pacs", testDomains: [domain], algorithm: "erm", trialSeed: n >> 1, steps: 30 },
  };
}

/** Writes a sweep of some runs, none of them begun. */
export function writeSweep(folder: string, count: number): PlannedRun[] {
  const runs = Array.from({ length: count }, (_, n) => madeUpRun(n));
  writePlan(folder, { name: "made-up", protocol: [], requests: [] }, runs);
  return runs;
}

/** Says that a run is done, as the run itself would. */
export function finishRun(folder: string, { name }: PlannedRun, seconds = 10): void {
  const path = sweepPaths(folder).run(name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "timing.jsonl"), `${JSON.stringify({ step: 29, seconds })}\n`);
  writeFileSync(join(path, "done"), "{}");
}
