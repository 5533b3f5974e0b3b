/**
 * The lines that were added to a file since it was last looked at. What was read before is not read again, unless the file is
 * another one now: a run that is resumed cuts its records back and replaces the file, and then all of it is read again.
 *
 * The same file is recognized by its inode, its size, and the last bytes that were read: an inode may be used again.
 */

import { closeSync, fstatSync } from "node:fs";
import { openInside, readAt } from "./inside.js";

/** Bytes before the place of reading that must still be the same. */
const MARK = 64;

/** Bytes read in one go; a line may not be longer. */
const PIECE = 4 << 20;

/** Bytes read in one look, so that a file of any size is read without being in memory, or in anybody's way, at once. */
const MOST = 16 << 20;

export interface Added {
  /** Whole lines, without their newlines. */
  readonly lines: readonly string[];
  /** Whether these are the file from its start, and what was read before is void. */
  readonly replaced: boolean;
}

const nothing: Added = { lines: [], replaced: false };

export class Tail {
  private place = 0;
  private mark: Buffer = Buffer.alloc(0);
  private inode = 0;
  private size = -1;
  /** When the file was last changed, in milliseconds since 1970; undefined before the first look. */
  changed: number | undefined;
  /** Whether there is more to read than the last look did. */
  hasMore = false;

  /** `root` is the real path that the file must lie in. */
  constructor(
    private readonly root: string,
    private readonly path: string,
  ) {}

  /** Reads what was added. A last line without its newline waits until it has one. */
  read(): Added {
    const fd = openInside(this.root, this.path);
    if (fd === undefined) return this.forget();
    try {
      const { ino, size, mtimeMs } = fstatSync(fd);
      if (!this.hasMore && ino === this.inode && size === this.size && mtimeMs === this.changed) return nothing;
      const replaced = this.isAnother(fd, ino, size);
      if (replaced) this.place = 0;
      [this.inode, this.size, this.changed] = [ino, size, mtimeMs];
      return { lines: this.readLines(fd, size), replaced };
    } catch {
      return nothing; // the disk did not respond; try again later
    } finally {
      closeSync(fd);
    }
  }

  private isAnother(fd: number, inode: number, size: number): boolean {
    if (this.size < 0) return false;
    if (inode !== this.inode || size < this.place) return true;
    return !readAt(fd, this.place - this.mark.length, this.mark.length).equals(this.mark);
  }

  private readLines(fd: number, size: number): string[] {
    const lines: string[] = [];
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
        this.place += PIECE; // no line of ours is so long
        continue;
      }
      for (const line of piece.toString("utf8", 0, end).split("\n")) lines.push(line);
      this.place += end + 1;
    }
    const from = Math.max(0, this.place - MARK);
    this.mark = Buffer.from(readAt(fd, from, this.place - from));
    return lines;
  }

  /** A file that is gone leaves nothing behind. */
  private forget(): Added {
    const had = this.place > 0;
    [this.place, this.size, this.inode, this.changed] = [0, -1, 0, undefined];
    this.mark = Buffer.alloc(0);
    this.hasMore = false;
    return { lines: [], replaced: had };
  }
}
