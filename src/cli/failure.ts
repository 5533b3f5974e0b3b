/** How a failed command ends: what is printed, and the exit code. */

import { CommanderError } from "commander";
import { DataError, EngineError, UsageError } from "../errors.js";

/** The exit code of a run that was asked to stop and can go on from its checkpoint: "try again later" (EX_TEMPFAIL). */
export const RESUMABLE = 75;

/** What to print on stderr (nothing where it has been printed already) and the code to exit with. */
export function endOf(error: unknown): { text: string; code: 0 | 1 | 2 } {
  // Help and version end a command too; commander has printed those, and its own complaints.
  if (error instanceof CommanderError) return { text: "", code: error.exitCode === 0 ? 0 : 2 };
  if (error instanceof UsageError) return { text: `nudge: ${error.message}`, code: 2 };
  if (error instanceof DataError) return { text: `nudge: ${error.message}`, code: 1 };
  // An engine that cannot be loaded is a matter of set-up; in a computation, the stack says where it was.
  if (error instanceof EngineError && error.operator === "load") return { text: `nudge: ${error.message}`, code: 1 };
  return { text: error instanceof Error ? (error.stack ?? String(error)) : String(error), code: 1 };
}
