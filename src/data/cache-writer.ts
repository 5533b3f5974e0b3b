/**
 * Adds pictures to a cache: pixels to a file of this writer's own, and when they are on disk, lines to the index. What is
 * held in memory meanwhile is bounded.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DataError } from "../errors.js";
import type { FolderLock } from "../files/folder-lock.js";
import {
  type CacheEntry,
  type CacheIndex,
  type CacheSettings,
  entryLine,
  type FileStamp,
  headerLine,
  indexName,
  isCached,
  isPixelsName,
  pixelBytes,
} from "./cache-index.js";
import type { DecodedPicture } from "./decoded-picture.js";

/** Pixels kept in memory before they are written: few enough to lose, enough for the disk. */
const flushBytes = 32 * 2 ** 20;

type Write = (fd: number, bytes: Uint8Array) => void;

export class CacheWriter implements Disposable {
  /** Bytes of pixels on disk. */
  written = 0;
  private readonly pixelsName = `pixels-${randomBytes(8).toString("hex")}.u8`;
  private readonly pixels: number;
  private readonly index: number;
  private waiting: Uint8Array[] = [];
  private waitingBytes = 0;
  private lines: string[] = [];

  constructor(
    private readonly folder: string,
    settings: CacheSettings,
    private readonly lock: FolderLock,
    previous: CacheIndex | undefined,
    private readonly write: Write = writeAll,
  ) {
    const path = join(folder, indexName);
    this.pixels = openSync(join(folder, this.pixelsName), "wx");
    // A first line that was torn leaves nothing worth keeping.
    if (!previous) writeFileSync(path, headerLine(settings));
    this.index = openSync(path, "a");
    if (previous?.torn) writeSync(this.index, "\n");
  }

  /** Adds a picture; it is in the cache once `flush` has run, here or later. */
  add(path: string, stamp: FileStamp, picture: DecodedPicture): void {
    const { width, height, pixels, truncated } = picture;
    const offset = this.written + this.waitingBytes;
    this.lines.push(
      entryLine({ path, ...stamp, pixels: this.pixelsName, offset, width, height, ...(truncated && { truncated }) }),
    );
    this.waiting.push(pixels);
    this.waitingBytes += pixels.length;
    if (this.waitingBytes >= flushBytes) this.flush();
  }

  /** Notes a picture that cannot be had. */
  addBad(path: string, stamp: FileStamp, problem: string): void {
    this.lines.push(entryLine({ path, ...stamp, problem }));
  }

  /** Puts what is waiting on disk: pixels first. */
  flush(): void {
    if (this.lines.length === 0) return;
    if (!this.lock.held)
      throw new DataError(
        `picture cache ${this.folder}: another process took it over, because this one had stood still for long; run this again when that one is done`,
      );
    this.attempt(() => {
      try {
        for (const bytes of this.waiting) this.write(this.pixels, bytes);
        if (this.waitingBytes > 0) fdatasyncSync(this.pixels);
      } catch (error) {
        ftruncateSync(this.pixels, this.written); // gives back what room there was
        throw error;
      }
    });
    this.written += this.waitingBytes;
    const text = this.lines.join("");
    [this.waiting, this.waitingBytes, this.lines] = [[], 0, []];
    this.attempt(() => this.write(this.index, Buffer.from(text)));
  }

  /** Writes; a failure is said in words, and what is on disk by then stays. */
  private attempt(action: () => void): void {
    try {
      action();
    } catch (cause) {
      const { code = "", message } = cause as NodeJS.ErrnoException;
      const why = ["ENOSPC", "EDQUOT", "EFBIG"].includes(code) ? "the disk is full" : message;
      throw new DataError(
        `picture cache ${this.folder}: could not be written: ${why}. What is in it stays and is used; make room or name a folder on another disk (--out), and run this again to go on`,
        { cause },
      );
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.pixels);
    closeSync(this.index);
    if (this.written === 0) rmSync(join(this.folder, this.pixelsName), { force: true });
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

/** The pixel files of a cache, and how many bytes of each its entries need. */
function pixelFiles(folder: string, entries: Iterable<CacheEntry>): { path: string; needed: number }[] {
  const needed = new Map<string, number>();
  for (const entry of entries)
    if (isCached(entry)) needed.set(entry.pixels, (needed.get(entry.pixels) ?? 0) + pixelBytes(entry));
  const names = readdirSync(folder).filter(isPixelsName);
  return names.map((name) => ({ path: join(folder, name), needed: needed.get(name) ?? 0 }));
}

/** Removes pixel files that no entry needs; only the holder of the lock may. */
export function removeUnused(folder: string, entries: Iterable<CacheEntry>): void {
  for (const { path, needed } of pixelFiles(folder, entries)) if (needed === 0) rmSync(path, { force: true });
}

/** Bytes in pixel files that no entry needs. */
export function unusedBytes(folder: string, entries: Iterable<CacheEntry>): number {
  const size = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return pixelFiles(folder, entries).reduce((sum, { path, needed }) => sum + Math.max(0, size(path) - needed), 0);
}
