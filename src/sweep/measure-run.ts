/**
 * A short trial of a run, for real and thrown away: some updates, and one evaluation where that does not take long. What it
 * takes is what a sweep's estimate stands on.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RECORDS_FILE } from "../records/run.js";
import type { Request } from "../settings/keys.js";
import type { SettingsMemo } from "../settings/memo.js";
import { type Plan, resolve } from "../settings/resolve.js";
import { quietReporter } from "../training/reporter.js";
import { startRun } from "../training/start-run.js";
import { train } from "../training/train.js";
import { sizeOf } from "./clean.js";
import type { RunRequest } from "./sweep-folder.js";

/** What a run costs, in seconds and bytes. */
export interface RunCost {
  /** Until the first update: opening data, building the model. */
  readonly start: number;
  readonly update: number;
  readonly evaluation: number;
  /** Whether an evaluation was timed, or taken from the updates. */
  readonly evaluated: boolean;
  /** Bytes that stay: a run's folder without its records, and the records of one evaluation. */
  readonly disk: number;
  readonly records: number;
  /** Pictures of each domain in the batches that were timed. */
  readonly batchSize: number;
}

export interface MeasureOptions {
  readonly memo: SettingsMemo;
  readonly device: string;
  /** Seconds that the trial may take, roughly. */
  readonly seconds: number;
}

/** Updates that are timed at most, after those that warm up. */
const UPDATES = 20;
const WARM_UP = 2;

/** Measures a run. */
export async function measureRun(request: RunRequest, options: MeasureOptions): Promise<RunCost> {
  const folder = mkdtempSync(join(tmpdir(), "nudge-measure-"));
  try {
    const timed = await timeUpdates(join(folder, "updates"), request, options);
    const evaluation = evaluationGuess(timed.plan, timed.update);
    const { start, update, disk } = timed;
    const batchSize = timed.plan.settings.hparams.batchSize as number;
    const cost = { start, update, batchSize, evaluation, evaluated: false, disk, records: 0 };
    if (evaluation > options.seconds / 2) return cost;
    return { ...cost, evaluated: true, ...(await timeEvaluation(join(folder, "evaluation"), request, options)) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The run as the trial makes it: nothing is cached, and penalties that set in later are there at once. */
const trialOf = (request: RunRequest, device: string): Request => ({
  ...request,
  ...Object.fromEntries(Object.keys(request).flatMap((name) => (name.endsWith(".warmup") ? [[name, 0]] : []))),
  device,
  cache: "false",
});

async function timeUpdates(
  path: string,
  request: RunRequest,
  { memo, device, seconds }: MeasureOptions,
): Promise<{ plan: Plan; start: number; update: number; disk: number }> {
  const begun = performance.now();
  const steps = UPDATES + WARM_UP + 1; // of which the last, and so its evaluation, is never made
  const plan = await resolve({ ...trialOf(request, device), steps, evaluateEvery: steps, evaluateFirst: false }, memo);
  using folder = (await startRun(plan, path)).folder;
  const ends: number[] = [];
  const isEnough = (): boolean =>
    ends.length >= UPDATES + WARM_UP || (ends.length > WARM_UP && (performance.now() - begun) / 1000 > seconds / 2);
  const reporter = { ...quietReporter, status: () => void ends.push(performance.now()) };
  await train({ plan, folder, reporter, shouldStop: isEnough });
  const update = (ends[ends.length - 1] - ends[WARM_UP - 1]) / 1000 / (ends.length - WARM_UP);
  // What stays of a run is its last checkpoint, with two moments for each weight, and two files of weights alone.
  const disk = (5 / 3) * sizeOf(folder.lastCheckpoint);
  return { plan, start: Math.max(0, (ends[0] - begun) / 1000 - update), update, disk };
}

/** An evaluation's seconds by an update's: the pictures go forward only, which is a third of the work. */
function evaluationGuess({ split, settings }: Plan, update: number): number {
  const { testDomains, evaluateTraining, hparams, domains } = settings;
  let pictures = 0;
  for (const [domain, parts] of split)
    pictures += parts.out.length + (evaluateTraining || testDomains.includes(domain) ? parts.in.length : 0);
  const batch = (hparams.batchSize as number) * (domains.length - testDomains.length);
  return (update * pictures) / batch / 3;
}

async function timeEvaluation(
  path: string,
  request: RunRequest,
  { memo, device }: MeasureOptions,
): Promise<Pick<RunCost, "evaluation" | "disk" | "records">> {
  const asked = { ...trialOf(request, device), steps: 1, evaluateEvery: 1, evaluateFirst: true };
  const plan = await resolve(asked, memo);
  using folder = (await startRun(plan, path)).folder;
  await train({ plan, folder });
  const [first] = readFileSync(folder.file("timing.jsonl"), "utf8").split("\n");
  const { evaluation } = JSON.parse(first) as { evaluation: number };
  const records = sizeOf(folder.file(RECORDS_FILE));
  return { evaluation, records, disk: sizeOf(path) - records };
}
