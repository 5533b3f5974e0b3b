/**
 * The one way to open a file that somebody else may have made, for reading and for writing.
 *
 * A file is opened without waiting, must be a plain file and has a size limit: a named pipe would block for ever, a device
 * has no end, and a sparse file of a terabyte is a few bytes in an archive. Links are followed only where the caller says
 * so: in a dataset they are common, in a run folder nothing of ours is one. Files are never written through links.
 */

import {
  close,
  closeSync,
  constants,
  type Dirent,
  fstat,
  fstatSync,
  lstatSync,
  open,
  openSync,
  read,
  readdirSync,
  readSync,
  type Stats,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { DataError } from "../errors.js";
import { byteText } from "./byte-text.js";

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;

/** The largest file that is read as one text: V8 cannot hold longer ones than twice this. */
const MOST_TEXT = 256 << 20;

/** Node does not read 2 GiB or more in one call. */
const LARGEST_READ = 1 << 30;

/** The largest picture file that is read. */
export const MOST_PICTURE_BYTES = 512 << 20;

export interface ReadOptions {
  /** The largest file that is read, in bytes. */
  readonly most?: number;
  /** Whether the file may be a symbolic link (default: true). */
  readonly links?: boolean;
}

/** What an entry of a folder is, for an error; undefined for a plain file. */
const kindOf = (stat: Pick<Stats, "isFile" | "isDirectory" | "isFIFO" | "isSocket" | "isSymbolicLink">) => {
  if (stat.isFile()) return undefined;
  if (stat.isSymbolicLink()) return "a symbolic link";
  if (stat.isDirectory()) return "a folder";
  return stat.isFIFO() ? "a named pipe" : stat.isSocket() ? "a socket" : "a device";
};

const notPlain = (path: string, kind: string): DataError =>
  new DataError(`${path}: expected a plain file, found ${kind}`);

/** The error for a file that could not be opened: that of the system, or a `DataError` for something that is no file. */
function notOpened(path: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === "ELOOP") {
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
    return new DataError(`${path}: expected a plain file, found ${isLink ? "a symbolic link" : "links in a circle"}`, {
      cause,
    });
  }
  if (code === "ENXIO" || code === "ENODEV") return notPlain(path, "a socket or a device"); // nothing listens there
  return cause;
}

const flagsFor = ({ links = true }: ReadOptions): number => O_RDONLY | O_NONBLOCK | O_NOCTTY | (links ? 0 : O_NOFOLLOW);

function checkReadable(path: string, stat: Stats, { most = Number.POSITIVE_INFINITY }: ReadOptions): void {
  const kind = kindOf(stat);
  if (kind !== undefined) throw notPlain(path, kind);
  if (stat.size > most)
    throw new DataError(`${path}: it has ${byteText(stat.size)}, and at most ${byteText(most)} are read`);
}

/**
 * Opens a plain file to read. A missing file and the like are the error of the system; anything that is no plain file, or
 * too large, is a `DataError` with its name.
 */
export function openToRead(path: string, options: ReadOptions = {}): number {
  let fd: number;
  try {
    fd = openSync(path, flagsFor(options));
  } catch (cause) {
    throw notOpened(path, cause);
  }
  try {
    checkReadable(path, fstatSync(fd), options);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The bytes of a plain file. */
export function readBytes(path: string, options: ReadOptions = {}): Buffer {
  const fd = openToRead(path, options);
  try {
    const bytes = Buffer.allocUnsafe(fstatSync(fd).size);
    let done = 0;
    for (let got = -1; got !== 0 && done < bytes.length; done += got)
      got = readSync(fd, bytes, done, Math.min(bytes.length - done, LARGEST_READ), done);
    return bytes.subarray(0, done);
  } finally {
    closeSync(fd);
  }
}

/** The text of a plain file. */
export const readText = (path: string, { most = MOST_TEXT, ...options }: ReadOptions = {}): string =>
  readBytes(path, { most, ...options }).toString("utf8");

const [openLater, fstatLater, readLater, closeLater] = [
  promisify(open),
  promisify(fstat),
  promisify(read),
  promisify(close),
];

/** The bytes of a plain file, read by the threads of the system. */
export async function readBytesLater(path: string, options: ReadOptions = {}): Promise<Buffer> {
  const fd = await openLater(path, flagsFor(options)).catch((cause: unknown) => {
    throw notOpened(path, cause);
  });
  try {
    const stat = await fstatLater(fd);
    checkReadable(path, stat, options);
    const bytes = Buffer.allocUnsafeSlow(stat.size);
    let done = 0;
    for (let got = -1; got !== 0 && done < bytes.length; done += got)
      got = (await readLater(fd, bytes, done, Math.min(bytes.length - done, LARGEST_READ), done)).bytesRead;
    return bytes.subarray(0, done);
  } finally {
    await closeLater(fd);
  }
}

/** Opens a plain file to write, which is created if it is missing. A link is not followed. */
function openToWrite(path: string, flags: number): number {
  let fd: number;
  try {
    fd = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags, 0o666);
  } catch (cause) {
    throw notOpened(path, cause);
  }
  const kind = kindOf(fstatSync(fd));
  if (kind === undefined) return fd;
  closeSync(fd);
  throw notPlain(path, kind);
}

/** Opens a plain file to append to. */
export const openToAppend = (path: string): number => openToWrite(path, O_APPEND);

/** Opens a plain file to write it again from its start. */
export const openToReplace = (path: string): number => openToWrite(path, O_TRUNC);

/** Writes a small text to a plain file. For anything that must survive a kill, use `replaceFile`. */
export function writeText(path: string, text: string): void {
  const fd = openToReplace(path);
  try {
    writeFileSync(fd, text);
  } finally {
    closeSync(fd);
  }
}

/** How deep a run folder is at most: `retrained/checkpoint/…`, `lock/now/…`. */
const DEEPEST = 6;

/**
 * Throws an error if a folder that will be written to contains anything but plain files and folders, or is a link
 * itself: writing to it could change files elsewhere. A missing folder is fine. `what` is its kind, for the error.
 * `deepest` is how many levels are checked: with 0 only the folder itself.
 */
export function checkPlainFolder(path: string, what: string, deepest = DEEPEST): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (found.isSymbolicLink())
    throw new DataError(
      `${what} ${path}: it is a symbolic link, and files would be written where it leads. Name the folder itself, or copy it to this place`,
    );
  if (deepest > 0) checkEntries(path, "", { what, top: path, deepest });
}

interface Walk {
  readonly what: string;
  readonly top: string;
  readonly deepest: number;
}

function checkEntries(folder: string, inside: string, walk: Walk): void {
  for (const entry of entriesOf(folder)) {
    const name = inside === "" ? entry.name : `${inside}/${entry.name}`;
    const kind = kindOf(entry);
    if (kind === "a folder") {
      if (name.split("/").length < walk.deepest) checkEntries(join(folder, entry.name), name, walk);
    } else if (kind !== undefined)
      throw new DataError(
        `${walk.what} ${walk.top}: expected only plain files and folders in it, and ${JSON.stringify(name)} is ${kind}. Nothing was written. Remove it, or work on a copy without it`,
      );
  }
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return []; // a lock that was just released
    throw error;
  }
}
