/**
 * The runs of `nudge quickstart`: ERM and ERM-NU on the generated shapes, every domain held out in turn, over some seeds. They
 * are ordinary runs in ordinary run folders, so what is done is not done again, and what was stopped goes on.
 *
 * One thread: at this size a second one costs more than it brings, and the table does not depend on how many cores there are.
 */

import { join } from "node:path";
import { SHAPES_DOMAINS } from "../data/datasets/shapes.js";
import { version } from "../library/version.js";
import { resolve } from "../settings/resolve.js";
import { runName } from "../settings/settings.js";
import { quietReporter, type Status } from "../training/reporter.js";
import { startRun } from "../training/start-run.js";
import { train } from "../training/train.js";

const METHODS = ["ERM", "ERM-NU"] as const;

/** What is not the usual of `nudge train`: sized so that all runs together take about two minutes on one core. */
const SETTINGS = {
  data: "shapes",
  "data.perCell": 40,
  "data.cue": 0.7,
  batchSize: 16,
  lr: 2e-3,
  evaluateEvery: 50,
  evaluateFirst: false,
  evaluateTraining: false, // selection does not read these
  device: "cpu",
  threads: 1,
};

/** One of the runs. */
export interface QuickstartRun {
  readonly method: (typeof METHODS)[number];
  readonly heldOut: string;
  readonly seed: number;
}

/** All runs: both methods of a seed and a domain one after the other, from the same start and on the same batches. */
export function quickstartRuns(seeds: number): QuickstartRun[] {
  return Array.from({ length: seeds }, (_, seed) =>
    SHAPES_DOMAINS.flatMap((heldOut) => METHODS.map((method) => ({ method, heldOut, seed }))),
  ).flat();
}

export interface RunOptions {
  readonly steps: number;
  /** The folder of run folders. */
  readonly out: string;
  readonly onStatus: (status: Status) => void;
  readonly shouldStop: () => boolean;
}

/** Trains a run, goes on with it, or finds it done. */
export async function trainQuickstartRun(
  { method, heldOut, seed }: QuickstartRun,
  { steps, out, onStatus, shouldStop }: RunOptions,
): Promise<{ folder: string; done: boolean; reused: boolean }> {
  // The seed is of the split and of all else: trials differ in both, methods in neither.
  const plan = await resolve({ ...SETTINGS, testDomains: heldOut, algorithm: method, steps, trialSeed: seed, seed });
  const path = join(out, runName(plan.settings));
  const { folder: owned, was } = await startRun(plan, path);
  using folder = owned;
  if (was === "done") return { folder: path, done: true, reused: true };
  const reporter = { ...quietReporter, status: onStatus };
  const { done } = await train({ plan, folder, reporter, shouldStop, version: version() });
  return { folder: path, done, reused: false };
}
