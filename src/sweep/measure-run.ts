/**
 * Measures the cost of a run with a short trial whose results are deleted: some updates, and one evaluation if that does not
 * take long. The estimate of a sweep is based on these costs.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Request } from "../declared-settings/keys.js";
import { writeFigure } from "../drawing/write-figure.js";
import { readText } from "../files/open-file.js";
import type { RunRecord } from "../records/record.js";
import { RECORDS_FILE } from "../records/run.js";
import { readRecords } from "../records/store.js";
import type { SettingsMemo } from "../settings/memo.js";
import { type Plan, resolve } from "../settings/resolve.js";
import { runFigures } from "../training/figures.js";
import { quietReporter } from "../training/reporter.js";
import { startRun } from "../training/start-run.js";
import { train } from "../training/train.js";
import { modelsIn, sizeOf } from "./clean.js";
import type { RunRequest } from "./sweep-folder.js";

/** The cost of a run, in seconds and bytes. */
export interface RunCost {
  /** Seconds until the first update: opening the data and building the model. */
  readonly start: number;
  readonly update: number;
  readonly evaluation: number;
  /** Whether an evaluation was timed. If not, its time is derived from that of an update. */
  readonly evaluated: boolean;
  /** The size of its models, of the rest of its folder, and of what one evaluation adds, in bytes. */
  readonly models: number;
  readonly disk: number;
  readonly records: number;
  /** The size of its checkpoints, which it has until it is done. */
  readonly checkpoint: number;
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
    const { start, update, checkpoint } = timed;
    const batchSize = timed.plan.settings.hparams.batchSize as number;
    // A checkpoint has the weights and two moments for each of them; the folder of a run has texts and figures too.
    // Until a run is done, it has its last two checkpoints and its best weights.
    const sizes = { models: checkpoint / 3, disk: 500_000, records: 5_000, checkpoint: (7 / 3) * checkpoint };
    const cost = { start, update, batchSize, evaluation, evaluated: false, ...sizes };
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

/** The number of evaluations of a run: at the first step, at every so many, and at the last. */
export function evaluationsIn(request: RunRequest): number {
  const { steps, evaluateEvery, evaluateFirst } = request as Readonly<Record<string, number>>;
  const last = (steps - 1) % evaluateEvery === 0 ? 0 : 1;
  return Math.floor((steps - 1) / evaluateEvery) + last + (evaluateFirst ? 1 : 0);
}

/** Records of several evaluations that vary around one, to draw figures of the size that those of a run will have. */
const repeatedRecords = (records: readonly RunRecord[], count: number): RunRecord[] =>
  Array.from({ length: count }, (_, step) =>
    records.map((row, i) => ({ ...row, step, value: row.value * (1 + 0.1 * Math.sin(7 * step + i)) })),
  ).flat();

async function timeUpdates(
  path: string,
  request: RunRequest,
  { memo, device, seconds }: MeasureOptions,
): Promise<{ plan: Plan; start: number; update: number; checkpoint: number }> {
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
  const checkpoint = sizeOf(folder.lastCheckpoint);
  return { plan, start: Math.max(0, (ends[0] - begun) / 1000 - update), update, checkpoint };
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
): Promise<Pick<RunCost, "evaluation" | "models" | "disk" | "records">> {
  const evaluationRequest = { ...trialOf(request, device), steps: 1, evaluateEvery: 1, evaluateFirst: true };
  const plan = await resolve(evaluationRequest, memo);
  using folder = (await startRun(plan, path)).folder;
  await train({ plan, folder });
  const [first] = readText(folder.file("timing.jsonl")).split("\n");
  const { evaluation } = JSON.parse(first) as { evaluation: number };
  // The figures of this run have one point per curve.
  const repeated = repeatedRecords(readRecords(folder.records).records, evaluationsIn(request));
  for (const { name, svg } of runFigures(repeated, plan.settings)) await writeFigure(svg, folder.file("figures", name));
  const growing = [RECORDS_FILE, "events", "timing.jsonl"].map((name) => sizeOf(folder.file(name)));
  const records = growing.reduce((sum, each) => sum + each, 0);
  const models = modelsIn(path).reduce((sum, file) => sum + sizeOf(file), 0);
  return { evaluation, records, models, disk: sizeOf(path) - records - models };
}
