/**
 * The files of one run, or of one sweep, for those who read them: in a folder (here) or inside a packed study (src/pack).
 * Readers of runs ask for files by name and never for a path, so that they read both alike.
 */

import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { DataError } from "../errors.js";

/** Files that are kept together. A name may have folders in it, as `attempts/0123.json`. */
export interface StoredFiles {
  /** The folder, or the pack and the place in it: what messages and reports call it. */
  readonly path: string;
  has(name: string): boolean;
  /** The text of a file; undefined where there is no such file, an error where it cannot be read. */
  text(name: string): string | undefined;
  /** The bytes of a file that may be large, piece by piece; undefined where there is no such file. */
  pieces(name: string): Iterable<Buffer> | undefined;
  /** The names of the files in a folder among these; none where there is no such folder. */
  names(folder: string): string[];
  /** When a file was last written, in milliseconds since 1970; 0 where there is none, or where it is not known. */
  time(name: string): number;
}

/** Files in a folder. */
export class FolderFiles implements StoredFiles {
  constructor(readonly path: string) {}

  has(name: string): boolean {
    return existsSync(join(this.path, name));
  }

  text(name: string): string | undefined {
    return this.ifThere(name, (path) => readFileSync(path, "utf8"));
  }

  pieces(name: string): Iterable<Buffer> | undefined {
    const fd = this.ifThere(name, (path) => openSync(path, "r"));
    return fd === undefined ? undefined : piecesOf(fd);
  }

  names(folder: string): string[] {
    return this.ifThere(folder, (path) => readdirSync(path)) ?? [];
  }

  time(name: string): number {
    return statSync(join(this.path, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  }

  private ifThere<T>(name: string, read: (path: string) => T): T | undefined {
    const path = join(this.path, name);
    try {
      return read(path);
    } catch (cause) {
      if (["ENOENT", "ENOTDIR"].includes((cause as NodeJS.ErrnoException).code ?? "")) return undefined;
      throw new DataError(`${path}: could not be read: ${(cause as Error).message}`, { cause });
    }
  }
}

/** The files of a folder that is given by its path; files that are given stay what they are. */
export const filesOf = (place: string | StoredFiles): StoredFiles =>
  typeof place === "string" ? new FolderFiles(place) : place;

const PIECE = 1 << 20;

/** The bytes of an open file, piece by piece; closes it in the end. */
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

/** The whole lines of a text that comes in pieces, of which only one is in memory; `torn` gets what follows the last newline, if anything. */
export function* textLines(pieces: Iterable<Buffer>, torn: (rest: string) => void): Generator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for (const piece of pieces) {
    const lines = (rest + decoder.write(piece)).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  rest += decoder.end();
  if (rest !== "") torn(rest);
}
