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

/** What a launcher is given. */
export interface LaunchContext {
  /** The sweep's folder, from the root. */
  readonly folder: string;
  readonly name: string;
  /** The runs that were asked for, in the plan's order; some may be done. */
  readonly runs: readonly ListedRun[];
  readonly rules: WorkRules;
  /** The words that start `nudge`. */
  readonly program: readonly string[];
  /** The device that was asked for. */
  readonly device?: string;
  /** As many runs are made at most; null for all. */
  readonly most: number | null;
  /** Whether to stay until the last run has ended, wherever it is made. */
  readonly stay: boolean;
  /** Processes that were launched stop when the sweep's token becomes another. */
  readonly cancelToken: string;
  readonly stop: StopWish;
  /** The threads a run has in this sweep: fixed by the first launch, which proposes some. */
  readonly threads: (proposed: number) => number;
  /** What was not done when it was launched, as far as one can tell: neither done nor given up nor in others' hands. */
  readonly waiting: () => ListedRun[];
  readonly onEvent: (event: WorkEvent, slot: Slot) => void;
  /** Something to read, on the way. */
  readonly say: (line: string) => void;
  /** What the command was asked to print. */
  readonly print: (line: string) => void;
}

/** How a launch ended: as a controller does, or in others' hands. */
export type LaunchEnd = ControlEnd | "handed over";

export interface LauncherDefinition<O extends Options = Options> {
  readonly id: string;
  /** One sentence. */
  readonly about: string;
  /** Given as `-o name=value` or in a YAML file. */
  readonly options: O;
  launch(context: LaunchContext, options: ValuesOf<O>): Promise<LaunchEnd>;
  /** What the scheduler says of the sweep's jobs, a line each; none where it has none. */
  jobs?(folder: string): Promise<string[]>;
  /** Takes the sweep's jobs back; what was done, a line each. */
  cancel?(folder: string): Promise<string[]>;
}

/** A launcher, whatever its options are. */
export interface Launcher extends Omit<LauncherDefinition, "launch"> {
  /** Launches with options as they were given. */
  launch(context: LaunchContext, given: Readonly<Record<string, unknown>>): Promise<LaunchEnd>;
}
