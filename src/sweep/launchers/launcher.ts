/**
 * The contract of a launcher, which determines where the runs of a sweep are executed. All launchers start the same
 * program on the same folder; they differ in who starts it, where, and how often. A launcher either keeps slots of this
 * machine busy (with `control`) or submits commands to a scheduler, which need only the folder.
 */

import type { Options, ValuesOf } from "../../options.js";
import type { ControlEnd, StopWish } from "../controller.js";
import type { ListedRun } from "../run-list.js";
import type { WorkEvent, WorkRules } from "../work.js";
import type { Slot } from "../worker-process.js";

/** The input of a launcher. */
export interface LaunchContext {
  /** The absolute path of the sweep's folder. */
  readonly folder: string;
  readonly name: string;
  /** The requested runs in the order of the plan. Some of them may be done. */
  readonly runs: readonly ListedRun[];
  readonly rules: WorkRules;
  /** The command that starts `nudge`. */
  readonly program: readonly string[];
  /** The requested device. */
  readonly device?: string;
  /** The maximum number of runs to execute; null for all. */
  readonly most: number | null;
  /** Whether to wait until the last run has ended, wherever it is executed. */
  readonly stay: boolean;
  /** Launched processes stop when the token of the sweep differs from this one. */
  readonly cancelToken: string;
  readonly stop: StopWish;
  /** The number of threads per run of this sweep. The first launch fixes it to the number that it proposes. */
  readonly threads: (proposed: number) => number;
  /** The runs that can be claimed now, as far as is known: not done, not failed or stopped early, and not claimed by another process. */
  readonly waiting: () => ListedRun[];
  readonly onEvent: (event: WorkEvent, slot: Slot) => void;
  /** Prints a progress message. */
  readonly say: (line: string) => void;
  /** Prints a line of the requested output. */
  readonly print: (line: string) => void;
}

/** How a launch ended: like a controller, or with jobs that were submitted to a scheduler. */
export type LaunchEnd = ControlEnd | "handed over";

export interface LauncherDefinition<O extends Options = Options> {
  readonly id: string;
  /** One sentence. */
  readonly about: string;
  /** Given as `-o name=value` or in a YAML file. */
  readonly options: O;
  launch(context: LaunchContext, options: ValuesOf<O>): Promise<LaunchEnd>;
  /** The status of the sweep's jobs from the scheduler, one line per job; empty if there are no jobs. */
  jobs?(folder: string): Promise<string[]>;
  /** Cancels the sweep's jobs and returns what was done, one line per job. */
  cancel?(folder: string): Promise<string[]>;
}

/** A launcher with options of any type. */
export interface Launcher extends Omit<LauncherDefinition, "launch"> {
  /** Launches the sweep. The options are not yet parsed. */
  launch(context: LaunchContext, given: Readonly<Record<string, unknown>>): Promise<LaunchEnd>;
}
