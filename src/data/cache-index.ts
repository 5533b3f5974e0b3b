/**
 * What a cache of decoded pictures holds, and where: `index.jsonl`, to which lines are only ever added. The first says what
 * the cache is; then one for each picture, with the size and time its file had, and where its pixels are; a later line for
 * the same path replaces an earlier one. Pixels lie in files beside it, `pixels-….u8`, one for each process that added some,
 * so that no two ever write to the same file.
 *
 * A line is added when its pixels are on disk. So whatever kills a writer, what the index says is there; a torn last line is
 * passed over, and what it would have told of is decoded again.
 */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DataError } from "../errors.js";

/** What makes two caches of the same pictures differ. */
export interface CacheSettings {
  /** The folder that paths start from. */
  readonly root: string;
  /** The short side that larger pictures were scaled down to; null where all are as they were. */
  readonly shortSide: number | null;
  /** Whether pictures were turned as their EXIF data asks. */
  readonly upright?: true;
}

/** A file as it was when it was looked at. */
export interface FileStamp {
  readonly bytes: number;
  /** Milliseconds. */
  readonly mtime: number;
}

/** A picture in the cache. */
export interface CachedPicture extends FileStamp {
  readonly path: string;
  /** The name of the file with its pixels. */
  readonly pixels: string;
  /** Where in that file they begin; three bytes a pixel, row by row. */
  readonly offset: number;
  readonly width: number;
  readonly height: number;
  readonly truncated?: true;
}

/** A picture that could not be decoded: known, so that it is not tried again until it changes. */
export interface BadPicture extends FileStamp {
  readonly path: string;
  readonly problem: string;
}

export type CacheEntry = CachedPicture | BadPicture;

export interface CacheIndex {
  readonly settings: CacheSettings;
  readonly entries: Map<string, CacheEntry>;
  /** Whether the file ends within a line. */
  readonly torn: boolean;
}

const format = "nudge pictures";
const version = 1;

export const indexName = "index.jsonl";
export const isPixelsName = (name: string): boolean => /^pixels-[0-9a-f]+\.u8$/.test(name);

/** The first line of an index. */
export const headerLine = (settings: CacheSettings): string => line({ format, version, ...settings });

/** An entry as a line. */
export const entryLine = (entry: CacheEntry): string => line(entry);

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

/** The index of a cache folder; undefined where there is none yet. */
export function readIndex(folder: string): CacheIndex | undefined {
  const path = join(folder, indexName);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new DataError(`picture cache ${path}: could not be read (${(cause as Error).message})`, { cause });
  }
  const lines = text.split("\n");
  const torn = lines.pop() !== "";
  const header = parse(lines[0]);
  if (lines.length === 0) return undefined; // killed before its first line was whole
  if (header?.format !== format || header.version !== version)
    throw new DataError(
      `picture cache ${path}: expected the index of a picture cache, version ${version}; make the cache anew, or name another folder`,
    );
  const entries = new Map<string, CacheEntry>();
  for (const text of lines.slice(1)) {
    const entry = parse(text);
    if (isEntry(entry)) entries.set(entry.path, entry); // anything else was torn, and then something was added after it
  }
  const { root, shortSide, upright } = header as unknown as CacheSettings;
  return { settings: { root, shortSide, ...(upright && { upright }) }, entries, torn };
}

function parse(text: string | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const isCount = (value: unknown, least = 0): value is number => Number.isSafeInteger(value) && Number(value) >= least;

function isEntry(value: Record<string, unknown> | undefined): value is Record<string, unknown> & CacheEntry {
  if (!value || typeof value.path !== "string" || !isCount(value.bytes) || typeof value.mtime !== "number")
    return false;
  if (typeof value.problem === "string") return true;
  const { pixels, offset, width, height } = value;
  return (
    typeof pixels === "string" && isPixelsName(pixels) && isCount(offset) && isCount(width, 1) && isCount(height, 1)
  );
}

/** Whether an entry has pixels. */
export const isCached = (entry: CacheEntry | undefined): entry is CachedPicture =>
  entry !== undefined && !("problem" in entry);

/** How many bytes a picture's pixels take. */
export const pixelBytes = ({ width, height }: { width: number; height: number }): number => width * height * 3;

/** The stamp of a file now; undefined where it is gone or cannot be looked at. */
export function stampOf(path: string): FileStamp | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat && { bytes: stat.size, mtime: stat.mtimeMs };
  } catch {
    return undefined;
  }
}

/** Whether a file is as it was when the entry was made. */
export const isFresh = (entry: FileStamp | undefined, stamp: FileStamp | undefined): boolean =>
  entry !== undefined && stamp !== undefined && entry.bytes === stamp.bytes && entry.mtime === stamp.mtime;
