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

import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { DataError } from "../errors.js";
import { canonicalJson, shortHash } from "./canonical-json.js";
import { FolderLock, type LockOptions } from "./folder-lock.js";
import { makeFolder } from "./make-folder.js";

/** A file as it was when it was looked at. */
export interface FileStamp {
  readonly bytes: number;
  /** Milliseconds. */
  readonly mtime: number;
}

/** The stamp of a file now; of one that is not there, that of none. */
export function stampOf(path: string): FileStamp {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat ? { bytes: stat.size, mtime: stat.mtimeMs } : GONE;
  } catch {
    return GONE;
  }
}

const GONE: FileStamp = { bytes: 0, mtime: 0 };

/** A hash of a file's bytes: 32 hexadecimal digits of the SHA-256. */
export const contentOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex").slice(0, 32);

/** Where a block is. */
export interface Block {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
  readonly crc: number;
}

/** A file and its block, with what is known of it. */
export type Stored<Facts> = FileStamp & { readonly path: string; readonly content: string } & Block & Facts;

/** A file of which no block could be made: known, so that it is not tried again until it changes. */
export interface Failed extends FileStamp {
  readonly path: string;
  readonly problem: string;
}

export type StoreEntry<Facts> = Stored<Facts> | Failed;

export const isStored = <Facts>(entry: StoreEntry<Facts> | undefined): entry is Stored<Facts> =>
  entry !== undefined && !("problem" in entry);

export interface StoreOptions<Facts> {
  /** In errors: `picture cache`. */
  readonly what: string;
  /** What blocks are, and all that they depend on besides the file: another value, other blocks. */
  readonly kind: Readonly<Record<string, unknown>>;
  /** The folder that paths start from. */
  readonly root: string;
  /** Whether a line has the facts that go with a block, and the block is as long as they say. */
  isWhole(entry: Block & Partial<Facts>): boolean;
  /** What to do where it cannot be written. */
  readonly advice: string;
  /** Writes all bytes; for tests. */
  readonly write?: (fd: number, bytes: Uint8Array) => void;
}

const FORMAT = "nudge blocks";
const VERSION = 1;

/** Bytes kept in memory before they are written: few enough to lose, enough for the disk. */
const FLUSH_BYTES = 32 * 2 ** 20;

type Line = Record<string, unknown>;

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
    const read = this.readIndex(this.index);
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
    this.writer ??= this.attempt(() => this.beginWriting());
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
    this.writer ??= this.attempt(() => this.beginWriting());
    if (!this.lock?.held)
      throw new DataError(
        `${this.options.what} ${this.folder}: another process took it over, because this one had stood still for long; run this again when that one is done`,
      );
    const { writer } = this;
    this.waiting = nothing();
    const write = this.options.write ?? writeAll;
    this.attempt(() => {
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
      writeFileSync(path, `${this.header()}\n`); // a first line that was torn leaves nothing worth keeping
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

  private header(kindOnly = false): string {
    const { kind, root } = this.options;
    return canonicalJson({ format: FORMAT, version: VERSION, ...kind, ...(kindOnly ? {} : { root }) });
  }

  /** The blocks that other indexes of the same kind name. */
  private readOthers(): Map<string, Stored<Facts>> {
    const found = new Map<string, Stored<Facts>>();
    for (const name of readdirSync(this.folder)) {
      if (!INDEX_NAME.test(name) || name === this.index) continue;
      for (const entry of this.readIndex(name)?.entries ?? []) if (isStored(entry)) found.set(entry.content, entry);
    }
    return found;
  }

  /** The lines of an index; undefined where there is none, or where its blocks are of another kind. */
  private readIndex(name: string): { entries: StoreEntry<Facts>[]; torn: boolean } | undefined {
    const path = join(this.folder, name);
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw this.refused("read", cause);
    }
    const lines = text.split("\n");
    const torn = lines.pop() !== "";
    if (lines.length === 0) return { entries: [], torn: true }; // killed before its first line was whole
    const { root: _, ...kind } = parse(lines[0]) ?? {};
    if (canonicalJson(kind) !== this.header(true)) {
      if (name !== this.index) return undefined;
      throw new DataError(
        `${this.options.what} ${path}: expected an index of version ${VERSION}; remove it, or name another folder`,
      );
    }
    const entries = lines.slice(1).flatMap((line) => {
      const entry = parse(line);
      return entry && this.isEntry(entry) ? [entry] : []; // anything else was torn, and then something was added after it
    });
    return { entries, torn };
  }

  private isEntry(line: Line): line is Line & StoreEntry<Facts> {
    const { path, bytes, mtime, problem, content, file, offset, length, crc } = line;
    if (typeof path !== "string" || !isCount(bytes) || typeof mtime !== "number") return false;
    if (typeof problem === "string") return true;
    const isBlock =
      typeof file === "string" && BLOCKS_NAME.test(file) && isCount(offset) && isCount(length) && isCount(crc);
    return isBlock && typeof content === "string" && this.options.isWhole(line as unknown as Block & Partial<Facts>);
  }

  private attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (cause) {
      throw this.refused("written", cause);
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

const INDEX_NAME = /^index-[0-9a-f]{16}\.jsonl$/;
const BLOCKS_NAME = /^blocks-[0-9a-f]{16}-[0-9a-f]{16}\.bin$/;

interface Waiting<Facts> {
  readonly bytes: Uint8Array[];
  length: number;
  readonly entries: StoreEntry<Facts>[];
  readonly byContent: Map<string, Stored<Facts>>;
}

const nothing = <Facts>(): Waiting<Facts> => ({ bytes: [], length: 0, entries: [], byContent: new Map() });

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

function parse(line: string): Line | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Line) : undefined;
  } catch {
    return undefined;
  }
}
