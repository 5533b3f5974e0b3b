/**
 * Creates folders. Node's recursive `mkdir` must not be used: if the system reports ENOENT although the parent exists,
 * as in /proc, it loops forever, and on a read-only disk it reports a misleading reason.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { syncFolder } from "./sync-folder.js";

/** Creates a folder and its missing parents. Throws the error of the system on failure. */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !isFolder(folder) && folder !== dirname(folder); folder = dirname(folder))
    missing.push(folder);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder);
      syncFolder(dirname(folder)); // otherwise files that are synced in it later could be lost with it
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !isFolder(folder)) throw error; // created by another process meanwhile
    }
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // missing, or below a file: creating it will report the problem
  }
}
