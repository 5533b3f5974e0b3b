/**
 * Reads the lines that were appended to a file since the last check. Earlier content is not read again, unless the file
 * was replaced: a resumed run truncates its records and replaces the file, and then all of it is read again.
 *
 * The same file is recognized by its inode, its size, and the last bytes that were read, because an inode may be
 * reused.
 */

import { closeSync, fstatSync } from "node:fs";
import { readAt } from "./inside-files.js";
import { FolderFiles, type StoredFiles } from "./stored-files.js";

/** The number of bytes before the reading position that must be unchanged. */
const MARK = 64;

/** The number of bytes per read, and the maximum length of a line. */
const PIECE = 4 << 20;

/** The maximum number of bytes per check, so that a file of any size does not fill the memory or block others. */
const MOST = 16 << 20;

export interface Added {
  /** Whole lines, each with its newline. */
  readonly text: string;
  /** Whether these lines start at the beginning of the file, so that earlier lines are invalid. */
  readonly replaced: boolean;
}

/** A file whose lines are read as they are added. */
export interface GrowingFile {
  /** Reads the appended lines. An incomplete last line waits for its newline. */
  read(): Added;
  /** When the file was last changed, in milliseconds since 1970; undefined where there is none, and before it is read. */
  readonly changed: number | undefined;
  /** Whether there is more to read. */
  readonly hasMore: boolean;
  /** Whether it was read to its end, which is a newline. */
  readonly isWhole: boolean;
}

/** A file to be read as it grows; one in a pack does not. */
export const growingFile = (files: StoredFiles, name: string): GrowingFile =>
  files instanceof FolderFiles ? new Tail(files, name) : new WholeFile(files, name);

/** A file that does not change: all of it is added at the first look. */
class WholeFile implements GrowingFile {
  changed: number | undefined;
  readonly hasMore = false;
  isWhole = true;

  constructor(
    private readonly files: StoredFiles,
    private readonly name: string,
  ) {}

  read(): Added {
    if (this.changed !== undefined) return nothing;
    const text = this.files.text(this.name);
    if (text === undefined) return nothing;
    this.changed = this.files.time(this.name);
    this.isWhole = text === "" || text.endsWith("\n");
    return { text: text.slice(0, text.lastIndexOf("\n") + 1), replaced: false };
  }
}

const nothing: Added = { text: "", replaced: false };

export class Tail implements GrowingFile {
  private place = 0;
  /** As text: a small buffer would keep the pool that it is a part of. */
  private mark = "";
  private inode = 0;
  private size = -1;
  changed: number | undefined;
  hasMore = false;

  constructor(
    private readonly files: FolderFiles,
    private readonly name: string,
  ) {}

  get isWhole(): boolean {
    return this.place >= this.size;
  }

  read(): Added {
    const fd = this.files.open(this.name);
    if (fd === undefined) return this.forget();
    try {
      const { ino, size, mtimeMs } = fstatSync(fd);
      if (!this.hasMore && ino === this.inode && size === this.size && mtimeMs === this.changed) return nothing;
      const replaced = this.isAnother(fd, ino, size);
      if (replaced) this.place = 0;
      [this.inode, this.size, this.changed] = [ino, size, mtimeMs];
      return { text: this.readLines(fd, size), replaced };
    } catch {
      return nothing; // the disk did not respond; try again later
    } finally {
      closeSync(fd);
    }
  }

  private isAnother(fd: number, inode: number, size: number): boolean {
    if (this.size < 0) return false;
    if (inode !== this.inode || size < this.place) return true;
    return readAt(fd, this.place - this.mark.length, this.mark.length).toString("latin1") !== this.mark;
  }

  private readLines(fd: number, size: number): string {
    let text = "";
    let last: Buffer = Buffer.alloc(0);
    const start = this.place;
    this.hasMore = false;
    while (this.place < size) {
      if (this.place - start >= MOST) {
        this.hasMore = true;
        break;
      }
      const piece = readAt(fd, this.place, Math.min(PIECE, size - this.place));
      const end = piece.lastIndexOf(10);
      if (end < 0) {
        if (piece.length < PIECE) break; // half a line, which waits
        this.place += PIECE; // no valid line is so long
        last = piece;
        continue;
      }
      text += piece.toString("utf8", 0, end + 1);
      last = piece.subarray(0, end + 1);
      this.place += end + 1;
    }
    if (last.length < MARK) last = readAt(fd, Math.max(0, this.place - MARK), Math.min(MARK, this.place));
    this.mark = last.toString("latin1", Math.max(0, last.length - MARK));
    return text;
  }

  /** A removed file is reset. */
  private forget(): Added {
    const had = this.place > 0;
    [this.place, this.size, this.inode, this.changed] = [0, -1, 0, undefined];
    this.mark = "";
    this.hasMore = false;
    return { text: "", replaced: had };
  }
}
