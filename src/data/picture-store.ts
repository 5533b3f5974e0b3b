/**
 * The source of the pictures of batches: all pictures as bytes in memory (on the host or the GPU) if they fit into a
 * limit, otherwise the cache on disk, or the picture files if the cache is disabled. The pixels are the same in all
 * cases, so results do not depend on it.
 */

import { freemem } from "node:os";
import { constrainedMemory } from "node:process";
import { loadNative } from "../engine/load.js";
import { DataError, UsageError } from "../errors.js";
import { type ContentStore, isStored } from "../files/content-store.js";
import type { PixelBlock } from "./augment.js";
import { type CacheOptions, updateCache } from "./cache.js";
import type { Dataset, PictureDataset } from "./dataset.js";
import { defaultShortSide } from "./decode.js";
import { DecodedPictures } from "./decoded-pictures.js";
import { FilePictures } from "./file-pictures.js";
import type { Interpolation } from "./framing.js";
import { MemoryPictures } from "./memory-pictures.js";
import { openPictureBlocks, type PictureFacts } from "./picture-blocks.js";

/** A sample: the index of its domain, and its index in the domain. */
export interface SampleId {
  readonly domain: number;
  readonly index: number;
}

/** A picture that is available: its size, and data for its store. */
export interface FoundPicture {
  readonly width: number;
  readonly height: number;
  /** The start of its bytes, in memory or in a file. */
  readonly offset: number;
  /** The file of the bytes. */
  readonly file?: number;
  /** The bytes themselves. */
  readonly pixels?: Uint8Array;
}

/** A picture that is not available. */
export interface LostPicture {
  readonly problem: string;
}

/** Something that was looked up: it is there, it is lost, or it will be known later. */
export type Found<T> = T | LostPicture | Promise<T | LostPicture>;

export interface PictureStore extends Disposable {
  readonly kind: "memory" | "file" | "decode";
  /** The device of the bytes of `block`. */
  readonly device: string;
  /** Looks up the pictures of a batch. A picture that has to be decoded is a promise. */
  find(samples: readonly SampleId[]): Found<FoundPicture>[];
  /** Announces pictures that will be needed soon. */
  expect(pictures: readonly FoundPicture[]): void;
  /**
   * The pixels of pictures that were found. The caller disposes of `source` if it is not the whole memory of the store. Call it once
   * for what `find` returned: the memory of decoded pictures is then freed.
   */
  block(pictures: readonly FoundPicture[]): PixelBlock & { readonly owned: boolean };
}

export interface PictureStoreOptions {
  /** The cache folder; true for the default folder, false for no cache on disk. The cache is updated first. */
  cache?: string | boolean;
  /** Scale down pictures whose short side is longer; null keeps the original sizes (default: 256). */
  shortSide?: number | null;
  /** The filter that scales them down; the default is Lanczos'. */
  filter?: Interpolation;
  /** Bytes of pixels that may be held in memory: the GPU's where `device` is one and there is a cache, else the host's. */
  memoryLimit?: number;
  device?: string;
  /** Receives the progress of building the cache. */
  onPlan?: CacheOptions["onPlan"];
  onProgress?: CacheOptions["onProgress"];
  /** Called while the cache is updated. If it returns true, the update stops with a `StoppedError`. */
  shouldStop?: CacheOptions["shouldStop"];
}

/**
 * Opens the pictures of a dataset in the fastest way that fits. For a dataset of arrays, create a `Loader` directly.
 */
export async function openPictures(dataset: Dataset, options: PictureStoreOptions = {}): Promise<PictureStore> {
  if (dataset.kind !== "pictures")
    throw new UsageError(`dataset ${dataset.id} has arrays and no picture files: pass it to a Loader directly`);
  const { cache = true, shortSide = defaultShortSide, filter, device = "cpu" } = options;
  const memoryLimit = options.memoryLimit ?? defaultMemoryLimit(cache === false ? "cpu" : device);
  if (cache === false) return new DecodedPictures(dataset, { shortSide, filter, device, memoryLimit });
  const { onPlan, onProgress, shouldStop } = options;
  const folder = typeof cache === "string" ? cache : undefined;
  const store = openPictureBlocks(dataset, { folder, shortSide, filter });
  let files: FilePictures | undefined;
  try {
    const update = () => updateCache(store, dataset, { shortSide, filter, onPlan, onProgress, shouldStop });
    const { bytes, bad, pictures } = await update();
    if (bad.length === pictures)
      throw new DataError(`none of the ${pictures} pictures can be decoded; the first: ${bad[0]?.problem}`);
    if (bytes > memoryLimit) {
      files = new FilePictures(dataset, store, { shortSide, filter }, device);
      return files;
    }
    if (areDamaged(store, dataset)) await update();
    return MemoryPictures.load(dataset, store, device);
  } finally {
    if (!files) store[Symbol.dispose]();
  }
}

/** Reads every block of a dataset, and returns whether some are damaged. These count as missing afterwards. */
function areDamaged(store: ContentStore<PictureFacts>, { domains }: PictureDataset): boolean {
  const entries = domains.flatMap(({ files }) => files.map((path) => store.entries.get(path)));
  return entries.filter((entry) => isStored(entry) && !store.isIntact(entry)).length > 0;
}

/** Half of the free memory, or a quarter of a GPU's. */
function defaultMemoryLimit(device: string): number {
  if (device === "cpu") return Math.min(freemem(), constrainedMemory() || Number.POSITIVE_INFINITY) / 2;
  const index = Number(device.split(":")[1] ?? 0);
  return (loadNative().cudaDevices()[index]?.memory ?? 0) / 4;
}
