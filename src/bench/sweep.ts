/**
 * Measures the overhead of a sweep: several runs on one dataset, executed by one process as `nudge sweep run` executes them on
 * one device. Overhead is all time outside of a run's own clock, which runs from its first update to its last evaluation:
 * starting the engine, opening and uploading pictures, building the network, writing the model. The first run includes the cost
 * of what the other runs share.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { threads } from "../engine/device.js";
import { UsageError } from "../errors.js";
import { SettingsMemo } from "../settings/memo.js";
import { cancelToken } from "../sweep/cancel-marks.js";
import { growPlan } from "../sweep/grow-plan.js";
import { makePlan } from "../sweep/make-plan.js";
import { sweepPaths } from "../sweep/sweep-folder.js";
import { type WorkEvent, work } from "../sweep/work.js";

export interface SweepBenchOptions {
  /** A folder of pictures, or the name of a dataset in `root`. */
  data: string;
  root?: string;
  algorithm: string;
  backbone: string;
  device: string;
  precision: string;
  /** The number of runs: trials with the same domain held out. */
  runs: number;
  steps: number;
  /** The number of updates between two evaluations. */
  evaluateEvery: number;
  /** The number of pictures of each training domain in a batch. */
  batch: number;
  version: string;
}

/** The seconds of a run. */
export interface SweepBenchRun {
  /** From the claim of the run to its end. */
  readonly seconds: number;
  /** In the training loop: updates and evaluations. */
  readonly training: number;
  /** The part of these that evaluations take. */
  readonly evaluations: number;
}

export interface SweepBench {
  dataset: string;
  algorithm: string;
  backbone: string;
  device: string;
  precision: string;
  threads: number;
  steps: number;
  evaluateEvery: number;
  batch: number;
  runs: SweepBenchRun[];
  /** Seconds from the first claim to the end of the last run. */
  seconds: number;
  /** The overhead in seconds, of the first run and as a mean over the others; and its share of the time of all runs. */
  lost: { first: number; others: number; share: number };
}

/** A sweep that several processes on one device execute. */
export interface ParallelSweepBench {
  dataset: string;
  algorithm: string;
  backbone: string;
  device: string;
  precision: string;
  steps: number;
  evaluateEvery: number;
  batch: number;
  /** The number of simultaneous processes. */
  workers: number;
  runs: number;
  /** Seconds from the start of the processes to the end of the last run. */
  seconds: number;
}

/** Plans the sweep in a folder. */
async function planIn(folder: string, options: SweepBenchOptions) {
  const { data, root, algorithm, backbone, device, precision, runs, steps, evaluateEvery, batch } = options;
  const { title, domains } = await new SettingsMemo().dataset(data, { root, options: {} });
  const given = {
    ...{ data, root, backbone, precision, device, steps, evaluateEvery, batchSize: batch, trials: runs },
    ...{ algorithms: algorithm, testDomains: domains[0].name, pretrained: false, freezeBatchNorm: true },
  };
  const plan = await makePlan({ given });
  await growPlan(folder, plan.words, plan.runs);
  return { title, plan };
}

/**
 * Times a sweep that several processes on one device execute: while one of them prepares a run or writes a model, another trains.
 * `command` starts this program.
 */
export async function benchParallelSweep(
  options: SweepBenchOptions & { readonly workers: number },
  command: readonly string[],
): Promise<ParallelSweepBench> {
  const { algorithm, backbone, device, precision, runs, steps, evaluateEvery, batch, workers } = options;
  const folder = mkdtempSync(join(tmpdir(), "nudge-sweep-bench-"));
  try {
    const { title } = await planIn(folder, options);
    const start = performance.now();
    const [program, ...words] = command;
    const how = ["--launcher", "local", "-o", `jobs=${workers}`, "--device", device];
    const child = spawnSync(program, [...words, "sweep", "run", folder, ...how], { encoding: "utf8" });
    if (child.status !== 0) throw new Error(`bench sweep: the sweep failed: ${child.stderr.trim()}`);
    return {
      ...{ dataset: title, algorithm, backbone, device, precision, steps, evaluateEvery, batch, workers, runs },
      seconds: (performance.now() - start) / 1000,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function benchSweep(options: SweepBenchOptions): Promise<SweepBench> {
  const { algorithm, backbone, device, precision, runs, steps, evaluateEvery, batch, version } = options;
  if (runs < 2)
    throw new UsageError("bench sweep: expected at least 2 runs: the first one pays for what the others share");
  const folder = mkdtempSync(join(tmpdir(), "nudge-sweep-bench-"));
  try {
    const { title, plan } = await planIn(folder, options);
    const ended: { id: string; seconds: number }[] = [];
    const onEvent = (event: WorkEvent): void => {
      if (event.event === "done") ended.push(event);
      if (event.event === "failed") throw new Error(`bench sweep: a run failed: ${event.error}`);
    };
    const start = performance.now();
    await work({
      ...{ folder, device, threads: threads(), retries: 0, maxFailures: null, only: null, stopHopeless: false },
      ...{ runs: null, first: 0, cancelToken: cancelToken(folder), shouldStop: () => false, onEvent, version },
    });
    const seconds = (performance.now() - start) / 1000;
    const timed = ended.map(({ id, seconds }) => {
      const name = plan.runs.find((run) => run.id === id)?.name ?? id;
      return { seconds, ...timesOf(join(sweepPaths(folder).run(name), "timing.jsonl")) };
    });
    const lost = timed.map((run) => run.seconds - run.training);
    const others = lost.slice(1).reduce((sum, each) => sum + each, 0) / (timed.length - 1);
    const training = timed.reduce((sum, run) => sum + run.training, 0);
    return {
      ...{ dataset: title, algorithm, backbone, device, precision, threads: threads() },
      ...{ steps, evaluateEvery, batch, runs: timed, seconds },
      lost: { first: lost[0], others, share: 1 - training / seconds },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The timing that a run recorded: one row per evaluation. */
function timesOf(path: string): Omit<SweepBenchRun, "seconds"> {
  const rows = readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line): { seconds: number; evaluation: number } => JSON.parse(line));
  const evaluations = rows.reduce((sum, { evaluation }) => sum + evaluation, 0);
  return { training: rows.at(-1)?.seconds ?? 0, evaluations };
}
