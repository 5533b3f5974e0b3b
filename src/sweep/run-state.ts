/** The state of a run, determined in one place for the status of a sweep, reports and the dashboard. */

/**
 * `stopped`: started, and no process is working on it. `hopeless`: stopped early because others of its cell were
 * better. `cancelled`: excluded from its sweep until it is restored.
 */
export const RUN_STATES = ["done", "running", "waiting", "stopped", "failed", "hopeless", "cancelled"] as const;
export type RunState = (typeof RUN_STATES)[number];

/** States as people read them. */
export const stateWord = (state: RunState): string => (state === "hopeless" ? "stopped early" : state);

/** What a sweep decided about a run, so that `nudge sweep run` passes it over; and the last error, also where it did not. */
export interface Verdict {
  readonly state: "failed" | "hopeless" | "cancelled" | null;
  readonly error: string | null;
}

/** What its files say of a run. */
export interface RunSigns {
  readonly isDone: boolean;
  /** Whether a process is at work on it. */
  readonly isRunning?: boolean;
  readonly isBegun: boolean;
  /** Of its sweep; undefined outside of sweeps, and where nothing is known. */
  readonly verdict?: Verdict;
  /** Whether it left the dump of a failure, outside of a sweep; in one, the verdict says whether it is tried again. */
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

/** How many runs there are in each state. */
export type StateCounts = Record<RunState, number>;

export const noCounts = (): StateCounts =>
  Object.fromEntries(RUN_STATES.map((state) => [state, 0])) as Record<RunState, number>;
