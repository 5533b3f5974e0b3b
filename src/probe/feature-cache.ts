/**
 * Features of pictures on disk, computed once: `index.jsonl`, to which lines are only ever added, and `rows-….f32` beside it, one for
 * each process that added some. The first line says what the features are of; then a line for each picture, with the size
 * and time its file had and which row is its own. A line is added when its row is on disk, so that whatever kills a writer,
 * what the index says is there; a torn last line is passed over, and its picture computed again.
 */

import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fdatasyncSync,
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
import type { FileStamp } from "../data/cache-index.js";
import { DataError } from "../errors.js";
import { canonicalJson } from "../files/canonical-json.js";
import { makeFolder } from "../files/make-folder.js";

/** Where features are kept, on disk or in memory. */
export interface FeatureStore extends Disposable {
  /** By the picture's path. */
  readonly entries: ReadonlyMap<string, FileStamp | Lost>;
  /** The features of a picture that is there. */
  read(path: string): Float32Array;
  add(pictures: readonly NewFeatures[]): void;
}

/** What features are of: another value here, other features. */
export interface FeatureKey {
  /** The folder that paths start from. */
  readonly root: string;
  readonly backbone: string;
  /** The hash of the file of weights; or how they were drawn. */
  readonly weights: string;
  readonly inputShape: readonly number[];
  /** How a picture comes to that shape, in words. */
  readonly preprocessing: string;
  /** `cpu` or `cuda`: they round differently. */
  readonly device: string;
  /** Numbers in a row. */
  readonly width: number;
}

interface Computed extends FileStamp {
  readonly path: string;
  /** The file with its row, and which row that is. */
  readonly rows: string;
  readonly row: number;
}

/** A picture that cannot be read. */
export interface Lost extends FileStamp {
  readonly path: string;
  readonly problem: string;
}

/** A picture whose features are known, or why they cannot be. */
type FeatureEntry = Computed | Lost;

/** A picture and its features, to be added. */
export interface NewFeatures {
  readonly path: string;
  readonly stamp: FileStamp;
  /** The row, or why there is none. */
  readonly outcome: Float32Array | { readonly problem: string };
}

const INDEX = "index.jsonl";
const FORMAT = "nudge features";
const VERSION = 1;
const ROWS_NAME = /^rows-[0-9a-f]{16}\.f32$/;

export const isLost = (entry: FileStamp | Lost): entry is Lost => "problem" in entry;

/** Features that are kept for as long as the process runs. */
export class FeaturesInMemory implements FeatureStore {
  readonly entries = new Map<string, FileStamp | Lost>();
  private readonly rows = new Map<string, Float32Array>();

  read(path: string): Float32Array {
    return this.rows.get(path)!;
  }

  add(pictures: readonly NewFeatures[]): void {
    for (const { path, stamp, outcome } of pictures) {
      this.entries.set(path, "problem" in outcome ? { path, ...stamp, ...outcome } : stamp);
      if (!("problem" in outcome)) this.rows.set(path, outcome);
    }
  }

  [Symbol.dispose](): void {
    this.rows.clear();
  }
}

/** The features in a folder; close it when done. */
export class FeatureCache implements FeatureStore {
  readonly entries = new Map<string, FeatureEntry>();
  private readonly open = new Map<string, { fd: number; rows: number }>();
  private writer: { name: string; rows: number; fd: number; index: number } | undefined;
  private torn = false;

  /** Reads what is in the folder, which need not be there yet. */
  constructor(
    readonly folder: string,
    private readonly key: FeatureKey,
  ) {
    this.refresh();
  }

  /** Reads the index again: another process may have added to it. */
  refresh(): void {
    this.entries.clear();
    const path = join(this.folder, INDEX);
    if (!existsSync(path)) return;
    const lines = this.attempt("read", () => readFileSync(path, "utf8")).split("\n");
    this.torn = lines.pop() !== "";
    if (lines.length === 0) return; // killed before its first line was whole: it will be written anew
    const header = JSON.stringify(parse(lines[0]));
    if (header !== JSON.stringify(this.header()))
      throw new DataError(
        `feature cache ${path}: expected the features of ${this.key.backbone} on ${this.key.root}, version ${VERSION}; remove the folder, or name another`,
      );
    for (const line of lines.slice(1)) {
      const entry = parse(line);
      if (isEntry(entry) && (isLost(entry) || this.has(entry))) this.entries.set(entry.path, entry);
    }
  }

  /** Makes the folder, so that it can be locked. */
  prepare(): void {
    this.attempt("written", () => makeFolder(this.folder));
  }

  private header(): unknown {
    return JSON.parse(canonicalJson({ format: FORMAT, version: VERSION, ...this.key }));
  }

  /** Whether a row is really there: a file that was cut short has lost what it lost. */
  private has({ rows, row }: Computed): boolean {
    return row >= 0 && row < this.rowsIn(rows).rows;
  }

  private rowsIn(name: string): { fd: number; rows: number } {
    let known = this.open.get(name);
    if (known) return known;
    const path = join(this.folder, name);
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    known = { fd: size > 0 ? openSync(path, "r") : -1, rows: Math.floor(size / this.rowBytes) };
    this.open.set(name, known);
    return known;
  }

  private get rowBytes(): number {
    return this.key.width * Float32Array.BYTES_PER_ELEMENT;
  }

  /** The features of a picture that is in the cache. */
  read(path: string): Float32Array {
    const entry = this.entries.get(path);
    if (!entry || isLost(entry))
      throw new DataError(`feature cache ${this.folder}: there are no features of ${path} in it`);
    const row = new Float32Array(this.key.width);
    const got = readSync(this.rowsIn(entry.rows).fd, row, 0, this.rowBytes, entry.row * this.rowBytes);
    if (got !== this.rowBytes)
      throw new DataError(`feature cache ${this.folder}: ${entry.rows} ends before the features of ${path}`);
    return row;
  }

  /** Adds pictures: rows first, and when they are on disk, their lines. Only the holder of the folder's lock may. */
  add(pictures: readonly NewFeatures[]): void {
    this.attempt("written", () => {
      this.writer ??= this.beginWriting();
      const { name, fd, index } = this.writer;
      const entries = pictures.map(({ path, stamp, outcome }): FeatureEntry => {
        if ("problem" in outcome) return { path, ...stamp, problem: outcome.problem };
        writeAll(fd, new Uint8Array(outcome.buffer, outcome.byteOffset, outcome.byteLength));
        return { path, ...stamp, rows: name, row: this.writer!.rows++ };
      });
      fdatasyncSync(fd);
      writeAll(index, Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join("")));
      this.open.get(name)!.rows = this.writer.rows;
      for (const entry of entries) this.entries.set(entry.path, entry);
    });
  }

  private beginWriting(): NonNullable<FeatureCache["writer"]> {
    this.prepare();
    this.removeUnused();
    const name = `rows-${randomBytes(8).toString("hex")}.f32`;
    const fd = openSync(join(this.folder, name), "wx+");
    const path = join(this.folder, INDEX);
    if (this.entries.size === 0) writeFileSync(path, `${JSON.stringify(this.header())}\n`);
    else if (this.torn) writeFileSync(path, "\n", { flag: "a" });
    this.open.set(name, { fd, rows: 0 });
    return { name, rows: 0, fd, index: openSync(path, "a") };
  }

  /** Removes files of rows that no line names: a killed writer's, or of pictures that have all changed. */
  private removeUnused(): void {
    const named = new Set([...this.entries.values()].flatMap((entry) => (isLost(entry) ? [] : [entry.rows])));
    const unused = readdirSync(this.folder).filter((name) => ROWS_NAME.test(name) && !named.has(name));
    for (const name of unused) rmSync(join(this.folder, name), { force: true });
  }

  private attempt<T>(what: "read" | "written", action: () => T): T {
    try {
      return action();
    } catch (cause) {
      throw this.refused(what, cause);
    }
  }

  /** The system's refusal in words. */
  refused(what: "read" | "written", cause: unknown): unknown {
    if (!(cause instanceof Error) || !("syscall" in cause)) return cause;
    const { code = "", message } = cause as NodeJS.ErrnoException;
    const why = ["ENOSPC", "EDQUOT", "EFBIG"].includes(code) ? "the disk is full" : message;
    return new DataError(
      `feature cache ${this.folder}: could not be ${what}: ${why}. Name a folder on another disk with cache=DIR, or do without one with cache=false`,
      { cause },
    );
  }

  [Symbol.dispose](): void {
    for (const { fd } of this.open.values()) if (fd >= 0) closeSync(fd);
    if (this.writer) closeSync(this.writer.index);
    this.open.clear();
    this.writer = undefined;
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isEntry(value: Record<string, unknown> | undefined): value is Record<string, unknown> & FeatureEntry {
  if (!value || typeof value.path !== "string" || typeof value.bytes !== "number" || typeof value.mtime !== "number")
    return false;
  if (typeof value.problem === "string") return true;
  return typeof value.rows === "string" && ROWS_NAME.test(value.rows) && Number.isSafeInteger(value.row);
}
