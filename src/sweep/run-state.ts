/** The state of a run, determined in one place for the status of a sweep, reports and the dashboard. */

/**
 * `stopped`: started, and no process is working on it. `hopeless`: stopped early because others of its cell were
 * better. `cancelled`: excluded from its sweep until it is restored.
 */
export const RUN_STATES = ["done", "running", "waiting", "stopped", "failed", "hopeless", "cancelled"] as const;
export type RunState = (typeof RUN_STATES)[number];

/** The state as printed. */
export const stateWord = (state: RunState): string => (state === "hopeless" ? "stopped early" : state);

/** The decision of a sweep about a run, if any, because of which `nudge sweep run` skips it; and the last error, even without a decision. */
export interface Verdict {
  readonly state: "failed" | "hopeless" | "cancelled" | null;
  readonly error: string | null;
}

/** The facts about a run that determine its state. */
export interface RunSigns {
  readonly isDone: boolean;
  /** Whether a process is working on it. */
  readonly isRunning?: boolean;
  readonly isBegun: boolean;
  /** The decision of its sweep; undefined outside of sweeps, and if there is none. */
  readonly verdict?: Verdict;
  /** Outside of a sweep, whether its folder contains the dump of a failure. In a sweep, the verdict determines whether it is tried again. */
  readonly hasFailed?: boolean;
}

/** The state of a run. */
export function runState({ isDone, isRunning, isBegun, verdict, hasFailed }: RunSigns): RunState {
  if (isDone) return "done";
  if (isRunning) return "running";
  if (verdict?.state) return verdict.state;
  if (hasFailed) return "failed";
  return isBegun ? "stopped" : "waiting";
}

/** The number of runs in each state. */
export type StateCounts = Record<RunState, number>;

export const noCounts = (): StateCounts =>
  Object.fromEntries(RUN_STATES.map((state) => [state, 0])) as Record<RunState, number>;
