/** The default number of CPU threads per operator: `$NUDGE_THREADS`, else `$OMP_NUM_THREADS`, else the number of cores. */

import { availableParallelism } from "node:os";
import { positiveVariable } from "./positive-variable.js";

let cores: number | undefined;

export function defaultThreads(): number {
  const asked = positiveVariable("NUDGE_THREADS") ?? positiveVariable("OMP_NUM_THREADS");
  if (asked !== undefined) return Math.max(1, Math.floor(asked));
  cores ??= availableParallelism(); // asking the system takes longer than resolving the settings of a run
  return cores;
}
