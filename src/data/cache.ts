/**
 * The cache of decoded pictures: decode once, then read pixels as they are. Built here, resumable at any moment, by one
 * process at a time; read by picture-store.ts. What lies where is told in cache-index.ts.
 *
 * Pictures whose short side is over 256 are stored scaled down to that (`shortSide`): a photograph of 12 megapixels takes 36
 * MB decoded, and a network sees 224 × 224 of it. `shortSide: null` keeps every pixel, and with it the exact numbers of the
 * reference's resize from full size.
 */
import { rmSync, statfsSync } from "node:fs";
import { join, resolve } from "node:path";
import { DataError, StoppedError } from "../errors.js";
import { FolderLock, type LockOptions } from "../files/folder-lock.js";
import { makeFolder } from "../files/make-folder.js";
import { estimatePixels } from "./cache-estimate.js";
import {
  type CacheIndex,
  type CacheSettings,
  type FileStamp,
  indexName,
  isCached,
  isFresh,
  pixelBytes,
  readIndex,
  stampOf,
} from "./cache-index.js";
import { cacheFolderFor } from "./cache-location.js";
import { CacheWriter, removeUnused, unusedBytes } from "./cache-writer.js";
import type { PictureDataset } from "./dataset.js";
import { decodeFile, decodersAtOnce, defaultShortSide } from "./decode.js";
import { showName } from "./show-name.js";

export interface CacheOptions {
  /** The cache's folder; one under `~/.cache` that goes with the dataset's root and the size, unless told. */
  folder?: string;
  /** Scale down pictures whose short side is longer; null keeps all as they are. 256 unless told. */
  shortSide?: number | null;
  /** Throw away what is there, and begin anew. */
  fresh?: boolean;
  /** Told before anything is decoded. */
  onPlan?: (plan: CachePlan) => void;
  /** Asked after every picture: whether to stop there, with a `StoppedError`; what was decoded is kept. */
  shouldStop?: () => boolean;
  onProgress?: (progress: { done: number; total: number; bytes: number }) => void;
  lock?: LockOptions;
}

/** What is going to be done. */
export interface CachePlan {
  readonly folder: string;
  /** Pictures of the dataset, and how many of them have to be decoded. */
  readonly pictures: number;
  readonly missing: number;
  /** What these will take, from their headers. */
  readonly bytes: number;
  /** Room on the disk. */
  readonly free: number;
}

/** What a cache holds of a dataset, and what was done. */
export interface CacheReport {
  readonly folder: string;
  readonly shortSide: number | null;
  readonly pictures: number;
  /** Decoded this time. */
  readonly added: number;
  /** Those that could not be decoded, and those whose files end early. */
  readonly bad: readonly { readonly path: string; readonly problem: string }[];
  readonly truncated: readonly string[];
  /** Of the pixels of this dataset. */
  readonly bytes: number;
  /** On disk, but of no use: of files that have changed since. `fresh` gives it back. */
  readonly unused: number;
  readonly seconds: number;
}

/** A picture still to be decoded. */
interface Missing {
  readonly path: string;
  readonly stamp: FileStamp;
}

/** Brings a dataset's cache up to date: decodes what is missing or has changed. */
export async function buildCache(dataset: PictureDataset, options: CacheOptions = {}): Promise<CacheReport> {
  const start = performance.now();
  const { shortSide = defaultShortSide, onPlan } = options;
  const { upright } = dataset;
  const settings: CacheSettings = { root: resolve(dataset.root), shortSide, ...(upright && { upright }) };
  const folder = resolve(options.folder ?? cacheFolderFor(settings));
  const files = [...new Set(dataset.domains.flatMap((domain) => domain.files))];
  const seconds = () => (performance.now() - start) / 1000;
  // Where all is there, nothing is written: a cache may lie on a disk that we may only read.
  const there = options.fresh ? undefined : checked(readIndex(folder), settings, folder);
  if (there && missingFrom(there, files, dataset.root).length === 0) {
    onPlan?.({ folder, pictures: files.length, missing: 0, bytes: 0, free: freeSpace(folder) });
    return { ...reportOf(folder, files, settings), added: 0, seconds: seconds() };
  }

  attemptIn(folder, () => makeFolder(folder));
  using lock = await FolderLock.take(join(folder, "lock"), options.lock).catch(cannotMake(folder));
  if (options.fresh) rmSync(join(folder, indexName), { force: true });
  const index = checked(readIndex(folder), settings, folder); // again: another process may have added to it meanwhile
  const missing = missingFrom(index, files, dataset.root);
  const bytes = estimatePixels(
    missing.map(({ path }) => resolve(dataset.root, path)),
    shortSide,
  );
  const free = freeSpace(folder);
  onPlan?.({ folder, pictures: files.length, missing: missing.length, bytes, free });
  if (bytes > free)
    throw new DataError(
      `picture cache ${folder}: its ${missing.length} pictures need about ${gigabytes(bytes)} and ${gigabytes(free)} are free there; name a folder on another disk (--out), or make room`,
    );
  if (missing.length > 0 || !index) {
    using writer = attemptIn(folder, () => new CacheWriter(folder, settings, lock, index));
    await decodeInto(writer, missing, settings, options);
  }
  removeUnused(folder, readIndex(folder)?.entries.values() ?? []);
  lock.finish();
  return { ...reportOf(folder, files, settings), added: missing.length, seconds: seconds() };
}

/** The pictures that are not in a cache as they are now. A file that is gone cannot be had, and is not looked for again. */
function missingFrom(index: CacheIndex | undefined, files: readonly string[], root: string): Missing[] {
  return files
    .map((path) => ({ path, stamp: stampOf(resolve(root, path)) ?? gone }))
    .filter(({ path, stamp }) => !isFresh(index?.entries.get(path), stamp));
}

/** The stamp of a file that is gone. */
const gone: FileStamp = { bytes: 0, mtime: 0 };

/** Decodes a few pictures ahead of the one being written, in order, so that neighbours on disk are neighbours in the cache. */
async function decodeInto(
  writer: CacheWriter,
  missing: readonly Missing[],
  { root, ...settings }: CacheSettings,
  { onProgress, shouldStop }: CacheOptions,
): Promise<void> {
  const decode = ({ path }: Missing) => {
    const decoding = decodeFile(resolve(root, path), settings);
    decoding.catch(() => {}); // it is awaited below, but perhaps not soon
    return decoding;
  };
  const ahead = missing.slice(0, decodersAtOnce * 2).map(decode);
  for (const [i, { path, stamp }] of missing.entries()) {
    const [outcome] = await Promise.allSettled([ahead.shift() as ReturnType<typeof decode>]);
    if (outcome.status === "rejected" && !(outcome.reason instanceof DataError)) throw outcome.reason;
    if (outcome.status === "fulfilled") writer.add(path, stamp, outcome.value);
    else writer.addBad(path, stamp, outcome.reason.message);
    const next = missing[i + decodersAtOnce * 2];
    if (next) ahead.push(decode(next));
    if (i % 16 === 15 || i + 1 === missing.length)
      onProgress?.({ done: i + 1, total: missing.length, bytes: writer.written });
    if (shouldStop?.() && i + 1 < missing.length) {
      writer.flush();
      throw new StoppedError(`stopped after ${i + 1} of ${missing.length} pictures to decode, which are kept`);
    }
  }
  writer.flush();
}

function reportOf(
  folder: string,
  files: readonly string[],
  { shortSide }: CacheSettings,
): Omit<CacheReport, "added" | "seconds"> {
  const entries = readIndex(folder)?.entries ?? new Map();
  const bad: { path: string; problem: string }[] = [];
  const truncated: string[] = [];
  let bytes = 0;
  for (const path of files) {
    const entry = entries.get(path);
    if (isCached(entry)) {
      bytes += pixelBytes(entry);
      if (entry.truncated) truncated.push(path);
    } else bad.push({ path, problem: entry?.problem ?? `picture ${showName(path)}: is not in the cache` });
  }
  return {
    folder,
    shortSide,
    pictures: files.length,
    bad,
    truncated,
    bytes,
    unused: unusedBytes(folder, entries.values()),
  };
}

/** An index that is of these pictures at this size; any other is an error. */
function checked(index: CacheIndex | undefined, settings: CacheSettings, folder: string): CacheIndex | undefined {
  if (!index) return undefined;
  const { root, shortSide, upright } = index.settings;
  if (root === settings.root && shortSide === settings.shortSide && upright === settings.upright) return index;
  throw new DataError(
    `picture cache ${folder}: expected a cache of ${inWords(settings)}; it is of ${inWords(index.settings)}: name another folder, or begin anew (--fresh)`,
  );
}

const inWords = ({ root, shortSide, upright }: CacheSettings): string =>
  `${showName(root)}, ${shortSide === null ? "in full size" : `short side ${shortSide}`}${upright ? ", turned upright" : ""}`;

function freeSpace(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`;

const cannotMake = (folder: string) => (cause: Error) => {
  throw new DataError(
    `picture cache ${folder}: could not be made: ${cause.message}. Name another folder (cache=DIR in training, --out of nudge data cache), or train without one with cache=false`,
    { cause },
  );
};

function attemptIn<T>(folder: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    return cannotMake(folder)(cause as Error);
  }
}
