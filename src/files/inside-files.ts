/**
 * Reads files of a folder that others may have filled: only regular files, no links that leave the folder, no pipes
 * that would block, and never more bytes than requested.
 */

import { closeSync, fstatSync, readSync, realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { openToRead } from "./open-file.js";
import { FolderFiles, type StoredFiles } from "./stored-files.js";

/** Whether `path` is `root` or inside it. Both must be real paths. */
export function liesIn(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !way.startsWith(sep));
}

/** Whether a file or folder exists and is really inside `root`, a real path. */
function isInside(root: string, path: string): boolean {
  try {
    return liesIn(root, realpathSync.native(path));
  } catch {
    return false;
  }
}

/**
 * Opens a regular file that is not a link and whose folder is really inside `root` (a real path); undefined otherwise.
 */
function openInside(root: string, path: string): number | undefined {
  try {
    return isInside(root, dirname(path)) ? openToRead(path, { links: false }) : undefined;
  } catch {
    return undefined; // missing, not readable, or a link
  }
}

/** The text of a file, or its end if it is longer than `most` bytes; undefined if it cannot be read. */
export function readEnd(files: FolderFiles, name: string, most: number): { text: string; cut: boolean } | undefined {
  const fd = files.open(name);
  if (fd === undefined) return undefined;
  try {
    const { size } = fstatSync(fd);
    const bytes = readAt(fd, Math.max(0, size - most), Math.min(size, most));
    return { text: bytes.toString("utf8"), cut: size > most };
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** The files of a folder that is read in this way. Files that must not be read are treated as missing. */
export class InsideFiles extends FolderFiles {
  /** `root` is a real path. */
  constructor(
    private readonly root: string,
    path: string,
  ) {
    super(path);
  }

  override open(name: string): number | undefined {
    return openInside(this.root, join(this.path, name));
  }

  override has(name: string): boolean {
    const fd = this.open(name);
    if (fd !== undefined) closeSync(fd);
    return fd !== undefined;
  }

  override text(name: string): string | undefined {
    const read = readEnd(this, name, MOST_TEXT);
    return read?.cut ? undefined : read?.text;
  }

  override names(folder: string): string[] {
    return isInside(this.root, join(this.path, folder)) ? super.names(folder) : [];
  }
}

/** Larger files of a run are not useful on a page. */
const MOST_TEXT = 64 << 20;

/** A JSON object from a file; undefined if there is none. */
export function jsonIn(files: StoredFiles, name: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(files.text(name) ?? "null");
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Reads bytes at a position of an open file, fewer at its end. */
export function readAt(fd: number, from: number, count: number): Buffer {
  const bytes = Buffer.allocUnsafe(count);
  let done = 0;
  while (done < count) {
    const read = readSync(fd, bytes, done, count - done, from + done);
    if (read === 0) break;
    done += read;
  }
  return bytes.subarray(0, done);
}
