/** Appends to a file, all or nothing: what a full disk cut short is taken back, so its past is as it was. */

import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { DataError } from "../errors.js";
import { syncFolder } from "./sync-folder.js";

export interface AppendOptions {
  /** What is appended, for the error: "12 records". */
  readonly what: string;
  /** Whether it must have reached the disk before the call returns. */
  readonly sync?: boolean;
}

/** Adds bytes at the end of a file, which is made if need be; where that fails, a `DataError` names it. */
export function appendWhole(path: string, bytes: Uint8Array, { what, sync = false }: AppendOptions): void {
  let fd: number | undefined;
  let before = 0;
  try {
    fd = openSync(path, "a");
    before = fstatSync(fd).size;
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
    if (sync) fsyncSync(fd);
    if (sync && before === 0) syncFolder(dirname(path)); // a new file has a name to lose
  } catch (cause) {
    if (fd !== undefined) takeBack(fd, before);
    const words = `${path}: ${what} could not be added: ${(cause as Error).message}`;
    throw new DataError(`${words}. What was there before is untouched`, { cause });
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Cutting needs no space, so it works on a full disk; where it does not, the next reader drops the half line. */
function takeBack(fd: number, size: number): void {
  try {
    ftruncateSync(fd, size);
  } catch {
    // The error that led here is the one to see.
  }
}
