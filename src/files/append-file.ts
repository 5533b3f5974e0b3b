/**
 * Appends to a file, all or nothing. If the disk is full, the partial write is removed and the earlier content stays. A
 * link is not followed, because the folder may come from somebody else.
 */

import { closeSync, fstatSync, fsyncSync, ftruncateSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { DataError } from "../errors.js";
import { openToAppend } from "./open-file.js";
import { syncFolder } from "./sync-folder.js";

export interface AppendOptions {
  /** The appended content, for errors: "12 records". */
  readonly what: string;
  /** Whether the data must be on disk before the call returns. */
  readonly sync?: boolean;
}

/**
 * Appends bytes to a file, which is created if it does not exist. Throws a `DataError` with the name of the file on
 * failure.
 */
export function appendWhole(path: string, bytes: Uint8Array, { what, sync = false }: AppendOptions): void {
  let fd: number | undefined;
  let before = 0;
  try {
    fd = openToAppend(path);
    before = fstatSync(fd).size;
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    if (sync) fsyncSync(fd);
    if (sync && before === 0) syncFolder(dirname(path)); // the name of a new file must be synced too
  } catch (cause) {
    if (fd !== undefined) takeBack(fd, before);
    if (cause instanceof DataError) throw cause; // it is no plain file
    const words = `${path}: ${what} could not be added: ${(cause as Error).message}`;
    throw new DataError(`${words}. What was there before is untouched`, { cause });
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Truncating needs no space, so it works on a full disk. If it fails, the next reader drops the incomplete line. */
function takeBack(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size);
  } catch {
    // The original error is the one to report.
  }
}
