/** Syncs the names in a folder to disk, so that created, renamed and removed files survive a power failure. */

import { closeSync, fsyncSync, openSync } from "node:fs";

/** Some file systems cannot sync a folder; their names are then as safe as the file system makes them. */
export function syncFolder(folder: string): void {
  let fd: number | undefined;
  try {
    fd = openSync(folder, "r");
    fsyncSync(fd);
  } catch {
    // There is nothing to undo: the file exists under its new or its old name.
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
