/** Writes a packed study: an archive, in blocks, of the files that reports and the dashboard read. */

import { replaceFile } from "../files/replace-file.js";
import { blockBytes, MOST_RAW } from "./block.js";
import { padded, TAR_END, tarHeader } from "./tar.js";

/** A file to pack. */
export interface PackedEntry {
  readonly name: string;
  readonly size: number;
  content(): Iterable<Buffer>;
}

/** Files that belong together, such as those of a run. If they fit into a block, they are in one block. */
export interface PackedUnit {
  readonly entries: readonly PackedEntry[];
  /** The time of the files, in seconds since 1970. */
  readonly time: number;
}

/** Writes a pack atomically: the path has the old file or the complete new one. Returns its size in bytes. */
export function writePack(path: string, units: Iterable<PackedUnit>): number {
  let size = 0;
  replaceFile(path, (write) => {
    const blocks = new BlockWriter((bytes) => {
      write(bytes);
      size += bytes.length;
    });
    for (const { entries, time } of units) {
      const headers = entries.map((entry) => tarHeader({ name: entry.name, size: entry.size, time }));
      blocks.begin(entries.reduce((sum, entry, i) => sum + headers[i].length + padded(entry.size), 0));
      for (const [i, entry] of entries.entries()) {
        blocks.add(headers[i]);
        for (const piece of entry.content()) blocks.add(piece);
        blocks.add(Buffer.alloc(padded(entry.size) - entry.size));
      }
    }
    blocks.begin(TAR_END.length);
    blocks.add(TAR_END);
    blocks.end();
  });
  return size;
}

/** Splits the archive into blocks, between units if possible. */
class BlockWriter {
  private parts: Buffer[] = [];
  private length = 0;
  private carried = 0;
  /** The remaining bytes of the unit. */
  private left = 0;

  constructor(private readonly write: (bytes: Buffer) => void) {}

  /** Starts a unit with this number of bytes. */
  begin(size: number): void {
    if (this.length > 0 && this.length + size > MOST_RAW) this.flush();
    this.left = size;
  }

  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.length === MOST_RAW) this.flush();
      const part = bytes.subarray(at, at + MOST_RAW - this.length);
      this.parts.push(part);
      this.length += part.length;
      this.left -= part.length;
      at += part.length;
    }
  }

  end(): void {
    if (this.length > 0) this.flush();
  }

  private flush(): void {
    const raw = Buffer.concat(this.parts);
    this.write(blockBytes({ raw, carried: this.carried, goesOn: this.left > 0 }));
    this.carried = Math.min(this.left, MOST_RAW);
    [this.parts, this.length] = [[], 0];
  }
}
