/** The progress of a run and its expected end: from the report of its process, else from its last evaluation. */

import type { RunRow } from "./api.js";

export interface Progress {
  /** The number of finished steps. */
  readonly step: number;
  /** From 0 to 1; null if the number of steps is unknown. */
  readonly share: number | null;
  /** The remaining seconds; null if unknown. */
  readonly left: number | null;
}

/** The progress of a run at a time in milliseconds since 1970. */
export function progressOf({ state, step, steps, reported }: RunRow, now: number): Progress {
  const evaluated = step === null ? 0 : step + 1;
  // A run that stopped early by its own rule is complete.
  if (state === "done") return { step: evaluated, share: 1, left: 0 };
  const made = Math.max(evaluated, state === "running" && reported ? reported.step : 0);
  const share = steps ? Math.min(1, made / steps) : null;
  const left = state === "running" && reported ? Math.max(0, reported.left - (now - reported.at) / 1000) : null;
  return { step: made, share, left };
}
