/**
 * The runs of `nudge quickstart`: ERM and ERM-NU on the generated shapes, with every domain held out in turn, over
 * several seeds. They are ordinary runs in ordinary run folders, so finished runs are not repeated and stopped runs
 * resume.
 *
 * One thread: at this size a second thread costs more than it gains, and the table does not depend on the number of
 * cores.
 */

import { join } from "node:path";
import { SHAPES_DOMAINS } from "../data/datasets/shapes.js";
import { version } from "../library/version.js";
import { withOwnFolder } from "../settings/edition.js";
import { resolve } from "../settings/resolve.js";
import { runName } from "../settings/settings.js";
import { quietReporter, type Status } from "../training/reporter.js";
import { factsAt } from "../training/run-folder.js";
import { startRun } from "../training/start-run.js";
import { train } from "../training/train.js";

const METHODS = ["ERM", "ERM-NU"] as const;

/**
 * Settings that differ from the defaults of `nudge train`, chosen so that all runs together take about two minutes on
 * one core.
 */
const SETTINGS = {
  data: "shapes",
  "data.perCell": 40,
  "data.cue": 0.7,
  batchSize: 16,
  lr: 2e-3,
  evaluateEvery: 50,
  evaluateFirst: false,
  evaluateTraining: false, // model selection does not need these
  device: "cpu",
  threads: 1,
};

/** One of the runs. */
export interface QuickstartRun {
  readonly method: (typeof METHODS)[number];
  readonly heldOut: string;
  readonly seed: number;
}

/**
 * All runs. For each seed and domain, both methods run one after the other, with the same initialization and the same
 * batches.
 */
export function quickstartRuns(seeds: number): QuickstartRun[] {
  return Array.from({ length: seeds }, (_, seed) =>
    SHAPES_DOMAINS.flatMap((heldOut) => METHODS.map((method) => ({ method, heldOut, seed }))),
  ).flat();
}

export interface RunOptions {
  readonly steps: number;
  /** The folder that contains the run folders. */
  readonly out: string;
  readonly onStatus: (status: Status) => void;
  readonly shouldStop: () => boolean;
}

/** Trains a run, resumes it, or finds it finished. */
export async function trainQuickstartRun(
  { method, heldOut, seed }: QuickstartRun,
  { steps, out, onStatus, shouldStop }: RunOptions,
): Promise<{ folder: string; done: boolean; reused: boolean }> {
  // The seed controls the split and everything else: trials differ in both, methods in neither.
  const asked = await resolve({ ...SETTINGS, testDomains: heldOut, algorithm: method, steps, trialSeed: seed, seed });
  const { plan } = withOwnFolder(asked, (settings) => factsAt(join(out, runName(settings))));
  const path = join(out, runName(plan.settings));
  const { folder: owned, was } = await startRun(plan, path);
  using folder = owned;
  if (was === "done") return { folder: path, done: true, reused: true };
  const reporter = { ...quietReporter, status: onStatus };
  const { done } = await train({ plan, folder, reporter, shouldStop, version: version() });
  return { folder: path, done, reused: false };
}
