/**
 * Blocks of bytes made from files (a picture's pixels, its features), kept on disk under the content of the file they were made
 * from: a file that was copied, linked, moved or touched has its block already. Lines and blocks are only ever added.
 *
 *     index-<of>.jsonl           what is known of the files of one folder: first what the blocks are, then a line a file
 *     blocks-<of>-<random>.bin   the blocks of one writer, so that no two ever write to the same file
 *     lock-<of>/                 one writer at a time for each index
 *
 * A line has a file's path, size and time, the hash of its bytes, where its block is, and the block's checksum. It is added when
 * its block is on disk, so whatever kills a writer, what the index says is there; a torn line is passed over. Indexes of other
 * folders in the same place lend their blocks where these are of the same kind. Other files there are left alone.
 */

import { randomBytes } from "node:crypto";
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { DataError } from "../errors.js";
import {
  BLOCKS_NAME,
  type Block,
  type FileStamp,
  headerOf,
  INDEX_NAME,
  type IndexKind,
  isStored,
  readIndex,
  type Stored,
  type StoreEntry,
} from "./block-index.js";
import { shortHash } from "./canonical-json.js";
import { FolderLock, type LockOptions } from "./folder-lock.js";
import { makeFolder } from "./make-folder.js";

export { contentOf, type FileStamp, isStored, type Stored, type StoreEntry, stampOf } from "./block-index.js";

export interface StoreOptions<Facts> extends IndexKind<Facts> {
  /** In errors: `picture cache`. */
  readonly what: string;
  /** The folder that paths start from. */
  readonly root: string;
  /** What to do where it cannot be written. */
  readonly advice: string;
  /** Writes all bytes; for tests. */
  readonly write?: (fd: number, bytes: Uint8Array) => void;
}

/** Bytes kept in memory before they are written: few enough to lose, enough for the disk. */
const FLUSH_BYTES = 32 * 2 ** 20;

export class ContentStore<Facts extends object = object> implements Disposable {
  readonly entries = new Map<string, StoreEntry<Facts>>();
  private readonly of: string;
  private readonly index: string;
  /** Blocks of other indexes by content, read when first asked for. */
  private others: Map<string, Stored<Facts>> | undefined;
  private readonly own = new Map<string, Stored<Facts>>();
  private readonly open = new Map<string, { fd: number; size: number }>();
  private readonly damaged = new Set<string>();
  /** Every block file that a line of this index names or named. */
  private readonly named = new Set<string>();
  private writer: { name: string; fd: number; index: number; size: number } | undefined;
  private torn = false;
  private lock: FolderLock | undefined;
  private scratch = new Uint8Array(0);
  private waiting = nothing<Facts>();

  /** Reads what is in the folder, which need not be there yet. */
  constructor(
    readonly folder: string,
    private readonly options: StoreOptions<Facts>,
  ) {
    this.of = shortHash({ ...options.kind, root: options.root });
    this.index = `index-${this.of}.jsonl`;
    this.refresh();
  }

  /** Reads the index again: another process may have added to it. */
  refresh(): void {
    this.entries.clear();
    this.own.clear();
    this.others = undefined;
    const read = this.attempt("read", () => readIndex(join(this.folder, this.index), this.options));
    if (read === "other kind")
      throw new DataError(
        `${this.options.what} ${join(this.folder, this.index)}: it is damaged, or of another version; remove it, or name another folder`,
      );
    this.torn = read?.torn ?? false;
    for (const entry of read?.entries ?? []) {
      if (isStored(entry)) this.named.add(entry.file);
      this.remember(entry);
    }
  }

  private remember(entry: StoreEntry<Facts>): void {
    this.entries.set(entry.path, entry);
    if (isStored(entry)) this.own.set(entry.content, entry);
  }

  /** Whether the file is as it was when the entry was made, and its block is there. */
  isFresh(path: string, stamp: FileStamp): boolean {
    const entry = this.entries.get(path);
    if (entry === undefined || entry.bytes !== stamp.bytes || entry.mtime !== stamp.mtime) return false;
    return !isStored(entry) || this.has(entry);
  }

  /** The block made from the same content, of this index or another. */
  find(content: string): Stored<Facts> | undefined {
    const own = this.own.get(content);
    if (own && this.has(own)) return own;
    const waiting = this.waiting.byContent.get(content);
    if (waiting) return waiting;
    this.others ??= this.readOthers();
    const other = this.others.get(content);
    return other && this.has(other) ? other : undefined;
  }

  /** Whether a block is there whole: a file that was cut short or removed has lost what it lost. */
  private has({ file, offset, length }: Block): boolean {
    return !this.damaged.has(`${file} ${offset}`) && offset + length <= this.fileOf(file).size;
  }

  /** The descriptor of the file that a block is in. */
  descriptorOf({ file }: Block): number {
    return this.fileOf(file).fd;
  }

  private fileOf(name: string): { fd: number; size: number } {
    let known = this.open.get(name);
    if (known) return known;
    try {
      const fd = openSync(join(this.folder, name), "r");
      known = { fd, size: fstatSync(fd).size };
    } catch {
      known = { fd: -1, size: 0 };
    }
    this.open.set(name, known);
    return known;
  }

  /** A block's bytes; undefined where they are not those that were written. */
  read(entry: Stored<Facts>): Uint8Array | undefined {
    return this.isIntact(entry) ? this.scratch.slice(0, entry.length) : undefined;
  }

  /** Whether a block's bytes are those that were written; where they are not, it counts as missing from now on. */
  isIntact(entry: Stored<Facts>): boolean {
    const { file, offset, length, crc } = entry;
    if (this.scratch.length < length) this.scratch = new Uint8Array(length);
    const bytes = this.scratch.subarray(0, length);
    const intact =
      this.has(entry) &&
      readSync(this.descriptorOf(entry), bytes, 0, length, offset) === length &&
      crc32(bytes) === crc;
    if (!intact) this.damaged.add(`${file} ${offset}`);
    return intact;
  }

  /** Becomes the one writer of this index; it waits for another, and reads what that one added. */
  async take(options?: LockOptions): Promise<FolderLock> {
    try {
      makeFolder(this.folder);
      this.lock = await FolderLock.take(join(this.folder, `lock-${this.of}`), options);
    } catch (cause) {
      throw this.refused("made", cause);
    }
    this.refresh();
    return this.lock;
  }

  /** Adds a file with its block, or with that of an entry of the same content, or with why it has none. See `flush`. */
  add(
    path: string,
    stamp: FileStamp,
    made: { content: string; bytes: Uint8Array; facts: Facts } | Stored<Facts> | { problem: string },
  ): void {
    if ("problem" in made) {
      this.waiting.entries.push({ path, ...stamp, problem: made.problem });
      return;
    }
    if ("crc" in made) {
      this.waiting.entries.push({ ...made, path, ...stamp });
      return;
    }
    this.writer ??= this.attempt("written", () => this.beginWriting());
    const { content, bytes, facts } = made;
    const offset = this.writer.size + this.waiting.length;
    const block: Block = { file: this.writer.name, offset, length: bytes.length, crc: crc32(bytes) };
    const entry: Stored<Facts> = { path, ...stamp, content, ...block, ...facts };
    this.waiting.entries.push(entry);
    this.waiting.byContent.set(content, entry);
    this.waiting.bytes.push(bytes);
    this.waiting.length += bytes.length;
    if (this.waiting.length >= FLUSH_BYTES) this.flush();
  }

  /** Puts what is waiting on disk: blocks first, and when they are there, their lines. */
  flush(): void {
    const { bytes, length, entries } = this.waiting;
    if (entries.length === 0) return;
    this.writer ??= this.attempt("written", () => this.beginWriting());
    if (!this.lock?.held)
      throw new DataError(
        `${this.options.what} ${this.folder}: another process took it over, because this one had stood still for long; run this again when that one is done`,
      );
    const { writer } = this;
    this.waiting = nothing();
    const write = this.options.write ?? writeAll;
    this.attempt("written", () => {
      try {
        for (const each of bytes) write(writer.fd, each);
        if (length > 0) fdatasyncSync(writer.fd);
      } catch (error) {
        ftruncateSync(writer.fd, writer.size); // gives back what room there was
        throw error;
      }
      writer.size += length;
      this.open.get(writer.name)!.size = writer.size;
      write(writer.index, Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join("")));
    });
    for (const entry of entries) this.remember(entry);
  }

  private beginWriting(): NonNullable<ContentStore["writer"]> {
    const path = join(this.folder, this.index);
    const whole = statSync(path, { throwIfNoEntry: false }) !== undefined && (this.entries.size > 0 || !this.torn);
    if (!whole)
      writeFileSync(path, `${headerOf(this.options.kind, this.options.root)}\n`); // a first line that was torn leaves nothing worth keeping
    else if (this.torn) writeFileSync(path, "\n", { flag: "a" });
    const name = `blocks-${this.of}-${randomBytes(8).toString("hex")}.bin`;
    const fd = openSync(join(this.folder, name), "wx+");
    this.open.set(name, { fd, size: 0 });
    this.named.add(name);
    return { name, fd, index: openSync(path, "a"), size: 0 };
  }

  /** Removes blocks of this index that a killed writer left and no line ever named; only the holder of the lock may. */
  removeLeftovers(): void {
    for (const name of this.blockFiles()) if (!this.named.has(name)) rmSync(join(this.folder, name), { force: true });
  }

  /** Forgets everything that was made for this folder, but for blocks that others use; only the holder of the lock may. */
  clear(): void {
    rmSync(join(this.folder, this.index), { force: true });
    this.refresh();
    this.others = this.readOthers();
    const lent = new Set([...this.others.values()].map(({ file }) => file));
    for (const name of this.blockFiles()) if (!lent.has(name)) rmSync(join(this.folder, name), { force: true });
    this.named.clear();
  }

  /** Bytes in the blocks of this index that none of its entries needs. */
  unusedBytes(): number {
    const needed = new Map<string, number>();
    for (const entry of this.entries.values())
      if (isStored(entry) && entry.file.startsWith(`blocks-${this.of}-`))
        needed.set(`${entry.file} ${entry.offset}`, entry.length);
    const used = [...needed.values()].reduce((sum, length) => sum + length, 0);
    const there = this.blockFiles().reduce((sum, name) => sum + statSync(join(this.folder, name)).size, 0);
    return Math.max(0, there - used);
  }

  private blockFiles(): string[] {
    return readdirSync(this.folder).filter((name) => name.startsWith(`blocks-${this.of}-`) && BLOCKS_NAME.test(name));
  }

  /** The blocks that other indexes of the same kind name. */
  private readOthers(): Map<string, Stored<Facts>> {
    const found = new Map<string, Stored<Facts>>();
    for (const name of readdirSync(this.folder)) {
      if (!INDEX_NAME.test(name) || name === this.index) continue;
      const read = readIndex(join(this.folder, name), this.options);
      if (read && read !== "other kind")
        for (const entry of read.entries) if (isStored(entry)) found.set(entry.content, entry);
    }
    return found;
  }

  private attempt<T>(what: "read" | "written", action: () => T): T {
    try {
      return action();
    } catch (cause) {
      throw this.refused(what, cause);
    }
  }

  /** The system's refusal in words. */
  private refused(what: "read" | "written" | "made", cause: unknown): unknown {
    if (!(cause instanceof Error) || !("code" in cause)) return cause;
    const { code = "", message } = cause as NodeJS.ErrnoException;
    const why = ["ENOSPC", "EDQUOT", "EFBIG"].includes(code) ? "the disk is full" : message;
    return new DataError(`${this.options.what} ${this.folder}: could not be ${what}: ${why}. ${this.options.advice}`, {
      cause,
    });
  }

  [Symbol.dispose](): void {
    for (const { fd } of this.open.values()) if (fd >= 0) closeSync(fd);
    if (this.writer) {
      closeSync(this.writer.index);
      if (this.writer.size === 0) rmSync(join(this.folder, this.writer.name), { force: true });
    }
    this.open.clear();
    this.writer = undefined;
  }
}

interface Waiting<Facts> {
  readonly bytes: Uint8Array[];
  length: number;
  readonly entries: StoreEntry<Facts>[];
  readonly byContent: Map<string, Stored<Facts>>;
}

const nothing = <Facts>(): Waiting<Facts> => ({ bytes: [], length: 0, entries: [], byContent: new Map() });

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}
