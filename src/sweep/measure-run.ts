/**
 * Measures the cost of a run with a short trial whose results are deleted: some updates, and one evaluation if that does not
 * take long. The estimate of a sweep is based on these costs.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Request } from "../declared-settings/keys.js";
import { readText } from "../files/open-file.js";
import { RECORDS_FILE } from "../records/run.js";
import type { SettingsMemo } from "../settings/memo.js";
import { type Plan, resolve } from "../settings/resolve.js";
import { quietReporter } from "../training/reporter.js";
import { startRun } from "../training/start-run.js";
import { train } from "../training/train.js";
import { sizeOf } from "./clean.js";
import type { RunRequest } from "./sweep-folder.js";

/** The cost of a run, in seconds and bytes. */
export interface RunCost {
  /** Seconds until the first update: opening the data and building the model. */
  readonly start: number;
  readonly update: number;
  readonly evaluation: number;
  /** Whether an evaluation was timed. If not, its time is derived from that of an update. */
  readonly evaluated: boolean;
  /** The size of a run's folder without its records, and the size of the records of one evaluation, in bytes. */
  readonly disk: number;
  readonly records: number;
  /** The number of pictures of each domain in the timed batches. */
  readonly batchSize: number;
}

export interface MeasureOptions {
  readonly memo: SettingsMemo;
  readonly device: string;
  /** The approximate time limit of the trial, in seconds. */
  readonly seconds: number;
}

/** The maximum number of timed updates, after the warm-up. */
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

/**
 * The request for the trial: nothing is cached, all penalties are active and the whole network is trained from the first
 * update, and nothing depends on the number of steps.
 */
function trialOf(request: RunRequest, device: string): Request {
  const { headFirst, warmupSteps: _, schedule, retrain: __, patience: ___, ...rest } = request;
  const kept = Object.entries(rest).filter(([name]) => !name.startsWith(`${schedule}.`));
  return {
    ...Object.fromEntries(kept.map(([name, value]) => [name, name.endsWith(".warmup") ? 0 : value])),
    ...(typeof headFirst === "number" ? {} : { headFirst }),
    device,
    cache: "false",
  };
}

async function timeUpdates(
  path: string,
  request: RunRequest,
  { memo, device, seconds }: MeasureOptions,
): Promise<{ plan: Plan; start: number; update: number; disk: number }> {
  const begun = performance.now();
  const steps = UPDATES + WARM_UP + 1; // the last update, and therefore the evaluation after it, is never executed
  const plan = await resolve({ ...trialOf(request, device), steps, evaluateEvery: steps, evaluateFirst: false }, memo);
  using folder = (await startRun(plan, path)).folder;
  const ends: number[] = [];
  const isEnough = (): boolean =>
    ends.length >= UPDATES + WARM_UP || (ends.length > WARM_UP && (performance.now() - begun) / 1000 > seconds / 2);
  const reporter = { ...quietReporter, status: () => void ends.push(performance.now()) };
  await train({ plan, folder, reporter, shouldStop: isEnough });
  const update = (ends[ends.length - 1] - ends[WARM_UP - 1]) / 1000 / (ends.length - WARM_UP);
  // A finished run keeps its last checkpoint, with two moments per weight, and two files with weights only.
  const disk = (5 / 3) * sizeOf(folder.lastCheckpoint);
  return { plan, start: Math.max(0, (ends[0] - begun) / 1000 - update), update, disk };
}

/** The seconds of an evaluation, derived from an update. An evaluation has only forward passes, which are a third of the work. */
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
  const evaluationRequest = { ...trialOf(request, device), steps: 1, evaluateEvery: 1, evaluateFirst: true };
  const plan = await resolve(evaluationRequest, memo);
  using folder = (await startRun(plan, path)).folder;
  await train({ plan, folder });
  const [first] = readText(folder.file("timing.jsonl")).split("\n");
  const { evaluation } = JSON.parse(first) as { evaluation: number };
  const records = sizeOf(folder.file(RECORDS_FILE));
  return { evaluation, records, disk: sizeOf(path) - records };
}
