/**
 * Replaces a file atomically: it is written next to the old one, synced to disk and renamed, so a reader sees either
 * the old or the new content.
 */
import { randomUUID } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DataError } from "../errors.js";
import { syncFolder } from "./sync-folder.js";

/** Node does not write 2 GiB or more in one call. */
const LARGEST_WRITE = 1 << 30;

/**
 * Writes `path` through `produce`, which calls `write` for each piece. On failure the old file is unchanged, the new
 * one is removed, and the error is that of `produce` or a `DataError` with the name of the file.
 */
export function replaceFile(path: string, produce: (write: (bytes: Uint8Array) => void) => void): void {
  // A random name and not the process id, which is reused in containers: a file that a killed process left would be in
  // the way.
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

/**
 * The error for a file that could not be written. The message of the system names a temporary file, although the folder
 * is missing.
 */
export function notWritten(path: string, cause: NodeJS.ErrnoException): DataError {
  const why = cause.code === "ENOENT" ? `there is no folder ${dirname(path)}` : cause.message;
  return new DataError(`${path}: could not be written: ${why}`, { cause });
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.byteLength; ) {
    done += writeSync(fd, bytes, done, Math.min(LARGEST_WRITE, bytes.byteLength - done));
  }
}
