/** One run of `nudge train`: its folder, its training, and for pictures its assessment and report. */

import { DataError, UsageError } from "../errors.js";
import { assessAndReport } from "../library/train.js";
import { version } from "../library/version.js";
import type { Plan } from "../settings/resolve.js";
import type { Reporter } from "../training/reporter.js";
import { startRun } from "../training/start-run.js";
import { type EndedRun, type TrainOutcome, train } from "../training/train.js";
import { LATEST, linkRun } from "./run-path.js";
import type { StopSignals } from "./stop-signals.js";

export interface RunOptions {
  readonly path: string;
  readonly reporter: Reporter;
  readonly stop: StopSignals;
  /** Whether a run that was begun in this folder goes on; otherwise that is refused. */
  readonly goOn: boolean;
  /** What goes on with the run when it was stopped, in words, where that is not --resume. */
  readonly goOnWith?: string;
  /** What is done with the model before the run counts as done; assessment and report by default. */
  readonly beforeDone?: (run: EndedRun) => Promise<void>;
}

/** A run's outcome; `already` where it had been done before. */
export type RunOutcome = TrainOutcome | { readonly done: true; readonly already: true };

/** Trains a run in its folder, or finds it done. */
export async function trainRun(asked: Plan, options: RunOptions): Promise<RunOutcome> {
  const { path, reporter, stop, goOn, goOnWith } = options;
  const { plan, folder: owned, was } = await startRun(asked, path);
  using folder = owned;
  linkRun(path, LATEST); // from its start on, so that a run that is stopped is found
  if (was === "done") return { done: true, already: true };
  if (was === "begun" && !goOn)
    throw new UsageError(`a run of these settings was begun in ${path}: go on with nudge train --resume ${path}`);
  reporter.line(`run folder: ${path}`);
  const beforeDone = options.beforeDone ?? (plan.dataset.kind === "pictures" ? assessAndReport : undefined);
  const shouldStop = (): boolean => stop.asked;
  const training = train({ plan, folder, reporter, shouldStop, goOn: goOnWith, version: version(), beforeDone });
  return await training.catch((error: unknown) => {
    throw isDiskFull(error) ? goOnOnceThereIsSpace(error, path) : error;
  });
}

const isDiskFull = (error: unknown): error is DataError =>
  error instanceof DataError && ["ENOSPC", "EDQUOT"].includes((error.cause as NodeJS.ErrnoException)?.code ?? "");

const goOnOnceThereIsSpace = (error: DataError, run: string): DataError =>
  new DataError(`${error.message}. Make room, then go on with: nudge train --resume ${run}`, { cause: error });
