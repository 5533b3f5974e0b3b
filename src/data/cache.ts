/**
 * The cache of decoded pictures: pictures are decoded once, and training reads the pixels. This file updates the cache;
 * one process at a time does so and can be interrupted at any moment. picture-store.ts reads it, and
 * files/content-store.ts defines its layout.
 *
 * Pictures whose short side is longer than 256 pixels are stored scaled down to that (`shortSide`): a photograph of 12
 * megapixels takes 36 MB decoded, and a network sees 224 × 224 pixels of it. `shortSide: null` keeps every pixel, and
 * with it the exact numbers of the reference, which resizes from the full size.
 */
import { statfsSync } from "node:fs";
import { resolve } from "node:path";
import { loadIfBuilt } from "../engine/load.js";
import { DataError, StoppedError } from "../errors.js";
import { type ContentStore, contentOf, type FileStamp, isStored, stampOf } from "../files/content-store.js";
import type { LockOptions } from "../files/folder-lock.js";
import { MOST_PICTURE_BYTES, readBytesLater } from "../files/open-file.js";
import { estimatePixels } from "./cache-estimate.js";
import type { PictureDataset } from "./dataset.js";
import { decodeBytes, decodersAtOnce, defaultShortSide } from "./decode.js";
import type { DecodedPicture } from "./decoded-picture.js";
import type { Interpolation } from "./framing.js";
import { openPictureBlocks, type PictureFacts, type StoredPicture } from "./picture-blocks.js";
import { showName } from "./show-name.js";

export interface CacheOptions {
  /** The folder of the cache; by default one folder below `~/.cache` for all datasets. */
  folder?: string;
  /** Scale down pictures whose short side is longer; null keeps the original sizes. The default is 256. */
  shortSide?: number | null;
  /** The filter that scales them down; the default is Lanczos'. */
  filter?: Interpolation;
  /** Throw away what was made for this folder of pictures, and begin again. */
  fresh?: boolean;
  /** Called before anything is decoded. */
  onPlan?: (plan: CachePlan) => void;
  /**
   * Called after every picture. If it returns true, the update stops with a `StoppedError`; decoded pictures are kept.
   */
  shouldStop?: () => boolean;
  onProgress?: (progress: { done: number; total: number }) => void;
  lock?: LockOptions;
}

/** The planned work. */
export interface CachePlan {
  readonly folder: string;
  /** The number of pictures of the dataset, and how many are missing or out of date. */
  readonly pictures: number;
  readonly missing: number;
  /** The maximum size of these, from their headers. */
  readonly bytes: number;
  /** The free space on the disk. */
  readonly free: number;
}

/** The entries of a dataset in the cache, and the work that was done. */
export interface CacheReport {
  readonly folder: string;
  readonly shortSide: number | null;
  readonly pictures: number;
  /** The number of pictures decoded in this update. */
  readonly added: number;
  /** The number of pictures that were not decoded, because the cache has pictures with the same bytes. */
  readonly known: number;
  /** Pictures that could not be decoded, and truncated files. */
  readonly bad: readonly { readonly path: string; readonly problem: string }[];
  readonly truncated: readonly string[];
  /** The bytes of the pixels of this dataset. */
  readonly bytes: number;
  /** Unused bytes on disk, of files that have changed since. `fresh` frees them. */
  readonly unused: number;
  readonly seconds: number;
}

type Blocks = ContentStore<PictureFacts>;

/** Updates the cache of a dataset: decodes pictures that are missing or have changed. */
export async function buildCache(dataset: PictureDataset, options: CacheOptions = {}): Promise<CacheReport> {
  const { folder, shortSide = defaultShortSide, filter } = options;
  using store = openPictureBlocks(dataset, { folder, shortSide, filter });
  return await updateCache(store, dataset, options);
}

/** The same for an open store. Damaged blocks are created again. */
export async function updateCache(store: Blocks, dataset: PictureDataset, options: CacheOptions): Promise<CacheReport> {
  const start = performance.now();
  const { shortSide = defaultShortSide, fresh, onPlan } = options;
  const { folder } = store;
  const files = [...new Set(dataset.domains.flatMap((domain) => domain.files))];
  const report = (made: { added: number; known: number }): CacheReport => ({
    ...reportOf(store, files, shortSide),
    ...made,
    seconds: (performance.now() - start) / 1000,
  });
  // If nothing is missing, nothing is written, because the cache may be on a read-only disk.
  if (!fresh && files.length > 0 && missingFrom(store, files, dataset.root).length === 0) {
    onPlan?.({ folder, pictures: files.length, missing: 0, bytes: 0, free: freeSpace(folder) });
    return report({ added: 0, known: 0 });
  }
  using lock = await store.take(options.lock);
  if (fresh) store.clear();
  const missing = missingFrom(store, files, dataset.root);
  const paths = missing.map(({ path }) => resolve(dataset.root, path));
  const bytes = estimatePixels(paths, shortSide);
  const free = freeSpace(folder);
  onPlan?.({ folder, pictures: files.length, missing: missing.length, bytes, free });
  if (bytes > free)
    throw new DataError(
      `picture cache ${folder}: its ${missing.length} pictures need about ${gigabytes(bytes)}, but only ${gigabytes(free)} are free; choose a folder on another disk (--out), or free some space`,
    );
  const made = await decodeInto(store, missing, dataset, { ...options, shortSide });
  store.removeLeftovers();
  lock.finish();
  return report(made);
}

/** Whether a cache has every picture of a dataset, so that no file has to be decoded. Nothing is written. */
export function isCached(
  dataset: PictureDataset,
  { folder, shortSide = defaultShortSide, filter }: CacheOptions,
): boolean {
  using store = openPictureBlocks(dataset, { folder, shortSide, filter });
  const files = [...new Set(dataset.domains.flatMap((domain) => domain.files))];
  return missingFrom(store, files, dataset.root).length === 0;
}

/** A picture that is missing or out of date. */
interface Missing {
  readonly path: string;
  readonly stamp: FileStamp;
}

/** The pictures that are missing or out of date in a cache. Files that do not exist are skipped. */
function missingFrom(store: Blocks, files: readonly string[], root: string): Missing[] {
  return files
    .map((path) => ({ path, stamp: stampOf(resolve(root, path)) }))
    .filter(({ path, stamp }) => !store.isFresh(path, stamp));
}

/** The number of pictures that are decoded before the addon, which decodes JPEG faster, is loaded. */
export const fewPictures = 1000;

/** The current content of a picture, and its pixels if the cache does not have them. */
type Read = { readonly content: string } & ({ readonly same: StoredPicture } | { readonly picture: DecodedPicture });

/**
 * Decodes a few pictures ahead of the one that is written, in order, so that neighbors on disk are neighbors in the
 * cache.
 */
async function decodeInto(
  store: Blocks,
  missing: readonly Missing[],
  { root, upright }: PictureDataset,
  { onProgress, shouldStop, shortSide, filter }: CacheOptions,
): Promise<{ added: number; known: number }> {
  const read = async (path: string): Promise<Read> => {
    const bytes = await readBytesLater(resolve(root, path), { most: MOST_PICTURE_BYTES }).catch((cause: Error) => {
      throw new DataError(`picture ${showName(resolve(root, path))}: could not be read (${cause.message})`, { cause });
    });
    const content = contentOf(bytes);
    const same = store.find(content);
    return same
      ? { content, same }
      : { content, picture: await decodeBytes(bytes, resolve(root, path), { shortSide, filter, upright }) };
  };
  const begin = ({ path }: Missing): Promise<Read> => {
    const reading = read(path);
    reading.catch(() => {}); // it is awaited below, possibly later
    return reading;
  };
  if (missing.length > fewPictures) loadIfBuilt();
  const ahead = missing.slice(0, decodersAtOnce * 2).map(begin);
  let [added, known] = [0, 0];
  for (const [i, { path, stamp }] of missing.entries()) {
    const [outcome] = await Promise.allSettled([ahead.shift() as Promise<Read>]);
    if (outcome.status === "rejected") {
      if (!(outcome.reason instanceof DataError)) throw outcome.reason;
      store.add(path, stamp, { problem: outcome.reason.message });
    } else {
      const { content } = outcome.value;
      const same = store.find(content); // it may be known by now
      if (same) known++;
      else added++;
      store.add(path, stamp, same ?? blockOf(content, outcome.value));
    }
    const next = missing[i + decodersAtOnce * 2];
    if (next) ahead.push(begin(next));
    if (i % 16 === 15 || i + 1 === missing.length) onProgress?.({ done: i + 1, total: missing.length });
    if (shouldStop?.() && i + 1 < missing.length) {
      store.flush();
      throw new StoppedError(`stopped after ${i + 1} of ${missing.length} pictures to decode, which are kept`);
    }
  }
  store.flush();
  return { added, known };
}

function blockOf(content: string, read: Read): { content: string; bytes: Uint8Array; facts: PictureFacts } {
  if ("same" in read) throw new TypeError("a block that was there is not there any more"); // removed by hand meanwhile
  const { width, height, pixels, truncated } = read.picture;
  return { content, bytes: pixels, facts: { width, height, ...(truncated && { truncated }) } };
}

function reportOf(
  store: Blocks,
  files: readonly string[],
  shortSide: number | null,
): Omit<CacheReport, "added" | "known" | "seconds"> {
  const bad: { path: string; problem: string }[] = [];
  const truncated: string[] = [];
  let bytes = 0;
  for (const path of files) {
    const entry = store.entries.get(path);
    if (isStored(entry)) {
      bytes += entry.length;
      if (entry.truncated) truncated.push(path);
    } else bad.push({ path, problem: entry?.problem ?? `picture ${showName(path)}: is not in the cache` });
  }
  const { folder } = store;
  return { folder, shortSide, pictures: files.length, bad, truncated, bytes, unused: store.unusedBytes() };
}

function freeSpace(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`;
