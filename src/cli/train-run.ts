/** One run of `nudge train`: its folder, its training and, for pictures, its assessment and report. */

import { DataError } from "../errors.js";
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
  /** Whether `latest` points to the run from its start, so that it can be resumed by this name. Otherwise the caller links it once it has a model. */
  readonly isLatest?: boolean;
  /** How to resume the run after a stop, as text, if not with --resume. */
  readonly resumeWith?: string;
  /** What is done with the model before the run counts as finished. The default is assessment and report. */
  readonly beforeDone?: (run: EndedRun) => Promise<void>;
}

/** The result of a run; `already` if it had been finished before. */
export type RunOutcome = TrainOutcome | { readonly done: true; readonly already: true };

/** Trains a run in its folder, or finds it finished. */
export async function trainRun(requested: Plan, options: RunOptions): Promise<RunOutcome> {
  const { path, reporter, stop, resumeWith } = options;
  const { plan, folder: owned, was } = await startRun(requested, path);
  using folder = owned;
  if (options.isLatest) linkRun(path, LATEST);
  if (was === "done") return { done: true, already: true };
  reporter.line(`run folder: ${path}`);
  const beforeDone = options.beforeDone ?? (plan.dataset.kind === "pictures" ? assessAndReport : undefined);
  const shouldStop = (): boolean => stop.asked;
  const training = train({ plan, folder, reporter, shouldStop, resumeWith, version: version(), beforeDone });
  return await training.catch((error: unknown) => {
    throw isDiskFull(error) ? resumableWithSpace(error, resumeWith ?? `nudge train --resume ${path}`) : error;
  });
}

const isDiskFull = (error: unknown): error is DataError =>
  error instanceof DataError && ["ENOSPC", "EDQUOT"].includes((error.cause as NodeJS.ErrnoException)?.code ?? "");

const resumableWithSpace = (error: DataError, command: string): DataError =>
  new DataError(`${error.message}. Free some disk space, then resume with: ${command}`, { cause: error });
