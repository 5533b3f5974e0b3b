/** How a failed command ends: what is printed, and the exit code. */

import { CommanderError } from "commander";
import { DataError, EngineError, StoppedError, UsageError } from "../errors.js";

/** The exit code of a run that was asked to stop and can go on from its checkpoint: "try again later" (EX_TEMPFAIL). */
export const RESUMABLE = 75;

const REFUSALS = ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EIO", "EMFILE", "ENFILE", "ENOTDIR"];

const isRefusal = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "syscall" in error && REFUSALS.includes((error as NodeJS.ErrnoException).code ?? "");

/** The exit code of what Ctrl-C ended, and does not go on by itself: the shell's for SIGINT. */
const INTERRUPTED = 130;

/** What to print on stderr (nothing where it has been printed already) and the code to exit with. */
export function endOf(error: unknown): { text: string; code: number } {
  // Help and version end a command too; commander has printed those, and its own complaints.
  if (error instanceof CommanderError) return { text: "", code: error.exitCode === 0 ? 0 : 2 };
  if (error instanceof UsageError) return { text: `nudge: ${error.message}`, code: 2 };
  if (error instanceof DataError) return { text: `nudge: ${error.message}`, code: 1 };
  if (error instanceof StoppedError) return { text: `nudge: ${error.message}`, code: INTERRUPTED };
  // An engine that cannot be loaded is a matter of set-up; in a computation, the stack says where it was.
  if (error instanceof EngineError && error.operator === "load") return { text: `nudge: ${error.message}`, code: 1 };
  // The system's refusals are no fault of the program: a full or failing disk, no right to read or write.
  if (isRefusal(error)) return { text: `nudge: ${error.message}`, code: 1 };
  return { text: error instanceof Error ? (error.stack ?? String(error)) : String(error), code: 1 };
}
