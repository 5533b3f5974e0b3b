/** How a failed command ends: the message and the exit code. */

import { CommanderError } from "commander";
import { DataError, EngineError, StoppedError, UsageError } from "../errors.js";

/** The exit code of a run that was stopped and can resume from its checkpoint: "try again later" (EX_TEMPFAIL). */
export const RESUMABLE = 75;

const REFUSALS = [
  ...["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM", "EIO", "EMFILE", "ENFILE"],
  ...["ENOTDIR", "EISDIR", "ELOOP", "ENAMETOOLONG", "ENXIO", "ENODEV", "ESTALE"],
];

const isRefusal = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "syscall" in error && REFUSALS.includes((error as NodeJS.ErrnoException).code ?? "");

/** A path with a NUL character, from a file of settings or a manifest: no file can have such a name, and Node.js throws a TypeError. */
const isNulPath = (error: unknown): error is Error =>
  error instanceof TypeError &&
  (error as NodeJS.ErrnoException).code === "ERR_INVALID_ARG_VALUE" &&
  error.message.includes("without null bytes");

/** Messages about insufficient memory for a tensor: those of the addon, and of libtorch on a CPU and on a GPU. */
const isOutOfMemory = (error: unknown): error is EngineError =>
  error instanceof EngineError && /out of memory|can't allocate memory|not enough memory/.test(error.message);

/** The exit code of a command that Ctrl-C ended and that does not resume: the shell's code for SIGINT. */
const INTERRUPTED = 130;

/**
 * The message of an error. The names in it may have line breaks: its further lines are indented, so that none of them looks
 * like another message.
 */
const messageOf = ({ message }: Error): string => message.replace(/\r\n|[\n\r\u2028\u2029](?! {2})/g, "\n  ");

/** The message for stderr (empty if it has been printed already) and the exit code. */
export function endOf(error: unknown): { text: string; code: number } {
  // Help and version also end a command. Commander has printed those, and its own error messages.
  if (error instanceof CommanderError) return { text: "", code: error.exitCode === 0 ? 0 : 2 };
  if (error instanceof UsageError) return { text: `nudge: ${messageOf(error)}`, code: 2 };
  if (error instanceof DataError) return { text: `nudge: ${messageOf(error)}`, code: 1 };
  if (error instanceof StoppedError) return { text: `nudge: ${messageOf(error)}`, code: INTERRUPTED };
  // An engine that cannot be loaded is a set-up problem. An error during a computation keeps its stack.
  if (error instanceof EngineError && error.operator === "load") return { text: `nudge: ${messageOf(error)}`, code: 1 };
  if (isOutOfMemory(error))
    return {
      text: `nudge: ${messageOf(error)}\nUse a smaller batchSize, smaller pictures or a smaller backbone.`,
      code: 1,
    };
  // Errors of the operating system are not errors of the program: a full or failing disk, missing permissions.
  if (isRefusal(error)) return { text: `nudge: ${messageOf(error)}`, code: 1 };
  if (isNulPath(error)) {
    const [, path = ""] = /Received (.*)$/s.exec(error.message) ?? [];
    return { text: `nudge: a path has a NUL character in it, so there is no such file: ${path}`, code: 2 };
  }
  return { text: error instanceof Error ? (error.stack ?? String(error)) : String(error), code: 1 };
}
