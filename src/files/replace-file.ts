/** Replaces a file in one step: written beside, synced to disk, then renamed, so that a reader sees the old or the new. */
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DataError } from "../errors.js";
import { syncFolder } from "./sync-folder.js";

/** Node refuses writes of 2 GiB and over in one call. */
const LARGEST_WRITE = 1 << 30;

/**
 * Writes `path` through `produce`, which calls `write` for each piece. When anything fails, the old file is untouched,
 * the new one is gone, and the error is the producer's own or a `DataError` that names the file.
 */
export function replaceFile(path: string, produce: (write: (bytes: Uint8Array) => void) => void): void {
  // No number of a process: in a container, the next one has the same, and what a killed one left would be in its way.
  const beside = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  const attempt = <T>(action: () => T): T => {
    try {
      return action();
    } catch (cause) {
      throw notWritten(path, cause as NodeJS.ErrnoException);
    }
  };
  const fd = attempt(() => openSync(beside, "wx"));
  let open = true;
  try {
    produce((bytes) => attempt(() => writeAll(fd, bytes)));
    attempt(() => fsyncSync(fd));
    open = false;
    attempt(() => closeSync(fd));
    attempt(() => renameSync(beside, path));
  } catch (error) {
    if (open) closeSync(fd);
    rmSync(beside, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** The error of a file that could not be written; the system's words name a temporary file, where it is a folder that is missing. */
export function notWritten(path: string, cause: NodeJS.ErrnoException): DataError {
  const why = cause.code === "ENOENT" ? `there is no folder ${dirname(path)}` : cause.message;
  return new DataError(`${path}: could not be written: ${why}`, { cause });
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.byteLength; ) {
    done += writeSync(fd, bytes, done, Math.min(LARGEST_WRITE, bytes.byteLength - done));
  }
}
