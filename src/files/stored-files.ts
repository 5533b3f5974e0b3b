/**
 * The files of a run or a sweep for reading: in a folder (here) or in a packed study (src/pack). Readers ask for files
 * by name instead of path, so that they can read both.
 */

import { closeSync, existsSync, fstatSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { DataError } from "../errors.js";
import { openToRead, readText } from "./open-file.js";

/** A set of files. A name may contain folders, such as `attempts/0123.json`. */
export interface StoredFiles {
  /** The folder, or the pack and the path in it, as shown in messages and reports. */
  readonly path: string;
  has(name: string): boolean;
  /** The text of a file; undefined if it does not exist. Throws if it cannot be read. */
  text(name: string): string | undefined;
  /** The bytes of a possibly large file, in pieces; undefined if it does not exist. */
  pieces(name: string): Iterable<Buffer> | undefined;
  /** The names of the files in a subfolder; empty if it does not exist. */
  names(folder: string): string[];
  /** The modification time of a file in milliseconds since 1970; 0 if it does not exist or the time is unknown. */
  time(name: string): number;
}

/** Files in a folder. */
export class FolderFiles implements StoredFiles {
  constructor(readonly path: string) {}

  has(name: string): boolean {
    return existsSync(this.at(name));
  }

  text(name: string): string | undefined {
    return this.ifThere(name, readSmallText);
  }

  /** Opens a file to read; undefined where there is no such file. */
  open(name: string): number | undefined {
    return this.ifThere(name, (path) => openToRead(path, { links: false }));
  }

  pieces(name: string): Iterable<Buffer> | undefined {
    const fd = this.open(name);
    return fd === undefined ? undefined : piecesOf(fd);
  }

  names(folder: string): string[] {
    return this.ifThere(folder, (path) => readdirSync(path)) ?? [];
  }

  time(name: string): number {
    return statSync(this.at(name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  /** The path of a file. Not normalized as by `join`, which takes as long as checking whether a file exists. */
  private at(name: string): string {
    return this.path === "" ? name : `${this.path}/${name}`;
  }

  private ifThere<T>(name: string, read: (path: string) => T): T | undefined {
    try {
      return read(this.at(name));
    } catch (cause) {
      if (cause instanceof DataError) throw cause;
      if (["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "")) return undefined;
      throw new DataError(`${join(this.path, name)}: could not be read: ${(cause as Error).message}`, { cause });
    }
  }
}

/** The files of a folder that is given by its path. Other values are returned unchanged. */
export const filesOf = (place: string | StoredFiles): StoredFiles =>
  typeof place === "string" ? new FolderFiles(place) : place;

/** The memory into which files are read that fit, because a sweep has hundreds of thousands of them. */
const small = Buffer.allocUnsafeSlow(1 << 16);

function readSmallText(path: string): string {
  const fd = openToRead(path, { links: false });
  try {
    if (fstatSync(fd).size >= small.length) return readText(path, { links: false });
    let length = 0;
    for (let read = -1; read !== 0 && length < small.length; length += read)
      read = readSync(fd, small, length, small.length - length, null);
    if (length < small.length) return small.toString("utf8", 0, length);
  } finally {
    closeSync(fd);
  }
  return readText(path, { links: false }); // it grew
}

const PIECE = 1 << 20;

/** The bytes of an open file, in pieces. Closes the file at the end. */
export function* piecesOf(fd: number): Generator<Buffer> {
  try {
    for (;;) {
      const piece = Buffer.allocUnsafe(PIECE);
      const read = readSync(fd, piece);
      if (read === 0) return;
      yield piece.subarray(0, read);
    }
  } finally {
    closeSync(fd);
  }
}

/** The longest line in characters: a file of zeros is one line. */
const LONGEST_LINE = 16 << 20;

/**
 * The complete lines of a text that arrives in pieces, of which only one is in memory. `torn` receives the text after
 * the last newline, if any.
 */
export function* textLines(pieces: Iterable<Buffer>, torn: (rest: string) => void, path: string): Generator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for (const piece of pieces) {
    if (rest.length > LONGEST_LINE) throw new DataError(`${path}: a line is longer than ${LONGEST_LINE} characters`);
    const lines = (rest + decoder.write(piece)).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  rest += decoder.end();
  if (rest !== "") torn(rest);
}
