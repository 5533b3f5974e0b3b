/**
 * Blocks of bytes that were computed from files (the pixels or features of a picture), stored on disk under the content
 * of the file. A file that was copied, linked, moved or touched already has its block. Lines and blocks are only
 * appended.
 *
 *     index-<of>.jsonl           the files of one folder: first the kind of blocks, then one line per file
 *     blocks-<of>-<random>.bin   the blocks of one writer, so that two writers never write to the same file
 *     lock-<of>/                 allows one writer at a time for each index
 *
 * A line has the path, size and time of a file, the hash of its bytes, the position of its block, and the checksum of
 * the block. It is appended after its block is on disk, so the index is correct even if a writer is killed; truncated
 * lines are skipped. Indexes of other folders in the same place share their blocks if they are of the same kind. Other
 * files are not touched.
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
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { DataError } from "../errors.js";
import { appendWhole } from "./append-file.js";
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
import { checkPlainFolder, openToAppend, openToRead, writeText } from "./open-file.js";

export { contentOf, type FileStamp, isStored, type Stored, type StoreEntry, stampOf } from "./block-index.js";

export interface StoreOptions<Facts> extends IndexKind<Facts> {
  /** The name in errors: `picture cache`. */
  readonly what: string;
  /** The folder that paths are relative to. */
  readonly root: string;
  /** Advice if it cannot be written. */
  readonly advice: string;
  /** Writes all bytes; replaced in tests. */
  readonly write?: (fd: number, bytes: Uint8Array) => void;
}

/** The number of bytes that are buffered before a write: few enough to lose, and enough for the disk. */
const FLUSH_BYTES = 32 * 2 ** 20;

export class ContentStore<Facts extends object = object> implements Disposable {
  readonly entries = new Map<string, StoreEntry<Facts>>();
  private readonly of: string;
  private readonly index: string;
  /** Blocks of other indexes by content, read when they are first needed. */
  private others: Map<string, Stored<Facts>> | undefined;
  private readonly own = new Map<string, Stored<Facts>>();
  private readonly open = new Map<string, { fd: number; size: number }>();
  private readonly damaged = new Set<string>();
  /** Every block file that a line of this index names or has named. */
  private readonly named = new Set<string>();
  private writer: { name: string; fd: number; index: number; size: number } | undefined;
  private torn = false;
  private lock: FolderLock | undefined;
  private scratch = new Uint8Array(0);
  private waiting = nothing<Facts>();

  /** Reads the folder, which may not exist yet. */
  constructor(
    readonly folder: string,
    private readonly options: StoreOptions<Facts>,
  ) {
    this.of = shortHash({ ...options.kind, root: options.root });
    this.index = `index-${this.of}.jsonl`;
    this.refresh();
  }

  /** Reads the index again, because another process may have appended to it. */
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

  /** Whether the file has not changed since the entry was made, and its block exists. */
  isFresh(path: string, stamp: FileStamp): boolean {
    const entry = this.entries.get(path);
    if (entry === undefined || entry.bytes !== stamp.bytes || entry.mtime !== stamp.mtime) return false;
    return !isStored(entry) || this.has(entry);
  }

  /** The block with the same content in this index or another. */
  find(content: string): Stored<Facts> | undefined {
    const own = this.own.get(content);
    if (own && this.has(own)) return own;
    const waiting = this.waiting.byContent.get(content);
    if (waiting) return waiting;
    this.others ??= this.readOthers();
    const other = this.others.get(content);
    return other && this.has(other) ? other : undefined;
  }

  /** Whether a block is complete. The block file may have been truncated or removed. */
  private has({ file, offset, length }: Block): boolean {
    return !this.damaged.has(`${file} ${offset}`) && offset + length <= this.fileOf(file).size;
  }

  /** The descriptor of the file that contains a block. */
  descriptorOf({ file }: Block): number {
    return this.fileOf(file).fd;
  }

  private fileOf(name: string): { fd: number; size: number } {
    let known = this.open.get(name);
    if (known) return known;
    try {
      const fd = openToRead(join(this.folder, name), { links: false });
      known = { fd, size: fstatSync(fd).size };
    } catch {
      known = { fd: -1, size: 0 };
    }
    this.open.set(name, known);
    return known;
  }

  /** The bytes of a block; undefined if they do not match the checksum. */
  read(entry: Stored<Facts>): Uint8Array | undefined {
    return this.isIntact(entry) ? this.scratch.slice(0, entry.length) : undefined;
  }

  /** Whether the bytes of a block match its checksum. If not, the block counts as missing. */
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

  /** Takes the lock for writing to this index. Waits for another writer, and reads what it appended. */
  async take(options?: LockOptions): Promise<FolderLock> {
    try {
      makeFolder(this.folder);
      checkPlainFolder(join(this.folder, `lock-${this.of}`), "cache lock");
      this.lock = await FolderLock.take(join(this.folder, `lock-${this.of}`), options);
    } catch (cause) {
      throw this.refused("made", cause);
    }
    this.refresh();
    return this.lock;
  }

  /**
   * Adds a file with its block, with the block of an entry with the same content, or with the reason why it has none.
   * See `flush`.
   */
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

  /** Writes the buffer to disk: blocks first, then their lines. */
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
        ftruncateSync(writer.fd, writer.size); // frees the space of the incomplete write
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
      writeText(path, `${headerOf(this.options.kind, this.options.root)}\n`); // without a complete first line nothing is worth keeping
    else if (this.torn) appendWhole(path, Buffer.from("\n"), { what: "a line end" });
    const name = `blocks-${this.of}-${randomBytes(8).toString("hex")}.bin`;
    const fd = openSync(join(this.folder, name), "wx+");
    this.open.set(name, { fd, size: 0 });
    this.named.add(name);
    return { name, fd, index: openToAppend(path), size: 0 };
  }

  /** Removes blocks of this index that a killed writer left and no line names. Requires the lock. */
  removeLeftovers(): void {
    for (const name of this.blockFiles()) if (!this.named.has(name)) rmSync(join(this.folder, name), { force: true });
  }

  /** Deletes everything for this folder, except blocks that other indexes use. Requires the lock. */
  clear(): void {
    rmSync(join(this.folder, this.index), { force: true });
    this.refresh();
    this.others = this.readOthers();
    const lent = new Set([...this.others.values()].map(({ file }) => file));
    for (const name of this.blockFiles()) if (!lent.has(name)) rmSync(join(this.folder, name), { force: true });
    this.named.clear();
  }

  /** The bytes in the blocks of this index that no entry uses. */
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

  /** The blocks that other indexes of the same kind use. */
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

  /** The system error as text. */
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
