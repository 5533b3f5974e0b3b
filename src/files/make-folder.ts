/**
 * Makes folders. Node's own recursive `mkdir` must not be used: where the system answers that there is no such place though
 * the folder above it is there, as in /proc, it tries for ever; and on a read-only disk it gives that answer as its reason.
 */
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { syncFolder } from "./sync-folder.js";

/** Makes a folder and those above it that are missing; the system's error where it cannot. */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !isFolder(folder) && folder !== dirname(folder); folder = dirname(folder))
    missing.push(folder);
  for (const folder of missing.reverse()) {
    try {
      mkdirSync(folder);
      syncFolder(dirname(folder)); // or what is synced in it later could be lost with it
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !isFolder(folder)) throw error; // made by another meanwhile
    }
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // not there, or under a file: making it will say what is wrong
  }
}
