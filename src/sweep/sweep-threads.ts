/**
 * The number of CPU threads per run of a sweep. It is not part of the name of a run, but the last digits of sums depend
 * on it. The first launch therefore fixes it for the whole sweep (`launch/threads`), and a launch with another number
 * of parallel runs gives identical results. A run that was started keeps its own number, and so does one for which the
 * plan specifies it.
 */

import { linkSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../files/make-folder.js";
import { readText } from "../files/open-file.js";
import { thisProcess } from "../files/process-identity.js";
import { replaceFile } from "../files/replace-file.js";
import { sweepPaths } from "./sweep-folder.js";

const pathOf = (folder: string): string => join(sweepPaths(folder).launch, "threads");

/** The fixed number of threads; undefined if it is not fixed yet. */
export function fixedThreads(folder: string): number | undefined {
  try {
    const count = Number(readText(pathOf(folder)));
    return Number.isSafeInteger(count) && count > 0 ? count : undefined;
  } catch {
    return undefined;
  }
}

/** Fixes the number of threads if it is not fixed yet, and returns it. Of two simultaneous calls, the first one wins. */
export function fixThreads(folder: string, proposed: number): number {
  const path = pathOf(folder);
  makeFolder(sweepPaths(folder).launch);
  const own = `${path}.${thisProcess().host}-${process.pid}`;
  replaceFile(own, (write) => write(Buffer.from(`${proposed}\n`)));
  try {
    linkSync(own, path); // the file appears complete, and never replaces an existing one
  } catch {
    // It was fixed before, or the file system has no links. In that case the last of two simultaneous calls wins.
    if (fixedThreads(folder) === undefined) renameSync(own, path);
  } finally {
    rmSync(own, { force: true });
  }
  return fixedThreads(folder) ?? proposed;
}
