/**
 * Reading files of a folder that somebody else may have filled: only plain files, never through a link that leaves the folder,
 * never one that would make the reader wait (a pipe), never more than was asked for.
 */

import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { piecesOf, type StoredFiles } from "../files/stored-files.js";

/** Whether `path` is `root` or lies in it; both must be real paths. */
export function liesIn(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !way.startsWith(sep));
}

/** Whether a file or folder is there and really lies in `root`, a real path. */
export function isInside(root: string, path: string): boolean {
  try {
    return liesIn(root, realpathSync.native(path));
  } catch {
    return false;
  }
}

/** Opens a plain file whose folder really lies in `root` (a real path) and which is no link itself; undefined otherwise. */
export function openInside(root: string, path: string): number | undefined {
  let fd: number | undefined;
  try {
    if (!isInside(root, dirname(path))) return undefined;
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (fstatSync(fd).isFile()) return fd;
  } catch {
    // Not there, not ours to read, or a link.
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

/** The text of a file, or its end where it is longer than `most` bytes; undefined where there is none to read. */
export function readEnd(root: string, path: string, most: number): { text: string; cut: boolean } | undefined {
  const fd = openInside(root, path);
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

/** The files of a folder that is read so; one that is not to be read is as if it were not there. */
export class InsideFiles implements StoredFiles {
  /** `root` is a real path. */
  constructor(
    private readonly root: string,
    readonly path: string,
  ) {}

  has(name: string): boolean {
    const fd = openInside(this.root, join(this.path, name));
    if (fd !== undefined) closeSync(fd);
    return fd !== undefined;
  }

  text(name: string): string | undefined {
    const read = readEnd(this.root, join(this.path, name), MOST_TEXT);
    return read?.cut ? undefined : read?.text;
  }

  pieces(name: string): Iterable<Buffer> | undefined {
    const fd = openInside(this.root, join(this.path, name));
    return fd === undefined ? undefined : piecesOf(fd);
  }

  names(folder: string): string[] {
    const path = join(this.path, folder);
    return isInside(this.root, path) ? readdirSync(path) : [];
  }

  time(name: string): number {
    return statSync(join(this.path, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }
}

/** Files of a run above this are of no use on a page. */
const MOST_TEXT = 64 << 20;

/** A JSON object from a file; undefined where there is none. */
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

/** So many bytes from a place of an open file, or as many as there are. */
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
