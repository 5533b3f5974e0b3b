/** Makes the names in a folder survive a power cut: files that were made in it, renamed or removed. */

import { closeSync, fsyncSync, openSync } from "node:fs";

/** Some file systems cannot sync a folder; then the names are as safe as those make them. */
export function syncFolder(folder: string): void {
  let fd: number | undefined;
  try {
    fd = openSync(folder, "r");
    fsyncSync(fd);
  } catch {
    // Nothing to undo: what was written is there, under its new name or under the old one.
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
