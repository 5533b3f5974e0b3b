/**
 * How a sweep is told to stop by those who share only its folder. The whole of it: `launch/cancelled-at` gets a new token;
 * whoever began under another one stops, and nothing has to be taken back before it can be run again. One run:
 * `launch/cancelled/<id>` is there until it is retried.
 */

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../files/make-folder.js";
import { replaceFile } from "../files/replace-file.js";
import { filesOf, type StoredFiles } from "../files/stored-files.js";
import { CANCELLED, sweepPaths } from "./sweep-folder.js";

const tokenFile = (folder: string): string => join(sweepPaths(folder).launch, "cancelled-at");
const runFolder = (folder: string): string => join(folder, CANCELLED);

/** The token of the last time that the sweep was cancelled; empty where it never was. */
export function cancelToken(folder: string): string {
  try {
    return readFileSync(tokenFile(folder), "utf8").trim();
  } catch {
    return "";
  }
}

/** Tells everybody at work on the sweep to stop. */
export function cancelAll(folder: string): void {
  makeFolder(sweepPaths(folder).launch);
  replaceFile(tokenFile(folder), (write) => write(Buffer.from(`${randomUUID()}\n`)));
}

/** Takes a run out of the sweep, until it is put back. */
export function cancelRun(folder: string, id: string): void {
  makeFolder(runFolder(folder));
  writeFileSync(join(runFolder(folder), id), "");
}

/** Puts a run back; whether it was out. */
export function uncancelRun(folder: string, id: string): boolean {
  const path = join(runFolder(folder), id);
  const was = existsSync(path);
  rmSync(path, { force: true });
  return was;
}

export const isCancelled = (folder: string, id: string): boolean => existsSync(join(runFolder(folder), id));

/** The ids of all runs that were taken out. */
export function cancelledIds(place: string | StoredFiles): Set<string> {
  return new Set(filesOf(place).names(CANCELLED));
}
