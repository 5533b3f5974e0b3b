/**
 * How processes that share only the folder of a sweep are asked to stop. For the whole sweep, `launch/cancelled-at`
 * gets a new token: processes that started under another token stop, and nothing has to be undone before the sweep can
 * run again. For a single run, `launch/cancelled/<id>` exists until the run is retried.
 */

import { randomUUID } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../files/make-folder.js";
import { readText, writeText } from "../files/open-file.js";
import { replaceFile } from "../files/replace-file.js";
import { filesOf, type StoredFiles } from "../files/stored-files.js";
import { CANCELLED, checkSweepPlaces, sweepPaths } from "./sweep-folder.js";

const tokenFile = (folder: string): string => join(sweepPaths(folder).launch, "cancelled-at");
const runFolder = (folder: string): string => join(folder, CANCELLED);

/** The token of the last cancellation of the sweep; empty if there was none. */
export function cancelToken(folder: string): string {
  try {
    return readText(tokenFile(folder)).trim();
  } catch {
    return "";
  }
}

/** Asks all processes that work on the sweep to stop. */
export function cancelAll(folder: string): void {
  checkSweepPlaces(folder);
  makeFolder(sweepPaths(folder).launch);
  replaceFile(tokenFile(folder), (write) => write(Buffer.from(`${randomUUID()}\n`)));
}

/** Cancels a run of the sweep until it is restored. */
export function cancelRun(folder: string, id: string): void {
  checkSweepPlaces(folder);
  makeFolder(runFolder(folder));
  writeText(join(runFolder(folder), id), "");
}

/** Restores a run; returns whether it was cancelled. */
export function uncancelRun(folder: string, id: string): boolean {
  const path = join(runFolder(folder), id);
  const was = existsSync(path);
  rmSync(path, { force: true });
  return was;
}

export const isCancelled = (folder: string, id: string): boolean => existsSync(join(runFolder(folder), id));

/** The ids of all cancelled runs. */
export function cancelledIds(place: string | StoredFiles): Set<string> {
  return new Set(filesOf(place).names(CANCELLED));
}
