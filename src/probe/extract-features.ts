/**
 * Features of a dataset's pictures by a frozen backbone, each computed once: pictures as they are (no augmentation), resized
 * and normalised as in evaluation. Pictures are taken in chunks of fixed places in the dataset's order, so that a run that was
 * killed half-way computes the rest in the same batches.
 */

import { realpathSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { plainDraw } from "../data/augment.js";
import { isFresh, stampOf } from "../data/cache-index.js";
import { cacheHome } from "../data/cache-location.js";
import type { PictureDataset } from "../data/dataset.js";
import { defaultShortSide } from "../data/decode.js";
import { type LostPicture, openPictures, type PictureStore, type SampleId } from "../data/picture-store.js";
import { pictureSource } from "../data/sample-source.js";
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { shortHash } from "../files/canonical-json.js";
import { FolderLock } from "../files/folder-lock.js";
import type { TrainSettings } from "../settings/settings.js";
import {
  FeatureCache,
  type FeatureKey,
  type FeatureStore,
  FeaturesInMemory,
  type NewFeatures,
} from "./feature-cache.js";

/** Pictures that are decoded and written together. */
const CHUNK = 32;
/**
 * Pictures in a forward pass on a CPU. More make maps of over 32 MB, which the C library has from the system for every use and
 * gives back: with 32 pictures a third of the time goes into clearing them.
 */
const AT_ONCE_ON_CPU = 4;
/** Chunks from one write to the next. */
const CHUNKS_A_WRITE = 16;

export interface ExtractOptions {
  /** Says what is going on, and where the features are kept. */
  say?: (text: string) => void;
  /** How far it is. */
  progress?: (text: string) => void;
  /** Asked after every chunk: whether to stop there; what was computed is kept. */
  shouldStop?: () => boolean;
}

export interface ExtractInput {
  readonly dataset: PictureDataset;
  readonly settings: Pick<TrainSettings, "backbone" | "weightsHash" | "seed" | "device" | "cache" | "inputShape">;
  /** The backbone's width, and its features of a batch, [n, width]; it is called only where some are missing. */
  readonly width: number;
  readonly forward: (x: Tensor) => Tensor;
}

/** The features of all pictures of a dataset; null where it was stopped. The store is the caller's to close. */
export async function extractFeatures(input: ExtractInput, options: ExtractOptions = {}): Promise<FeatureStore | null> {
  const { dataset, settings } = input;
  const { say = () => {} } = options;
  if (settings.cache === "false") return fill(new FeaturesInMemory(), input, options);
  const key = keyOf(input);
  const folder = folderFor(key, settings.cache);
  const cache = new FeatureCache(folder, key);
  let store: FeatureStore | null = null;
  try {
    if (chunksMissing(dataset, cache).length === 0) {
      say(`features: read from ${folder}`);
      store = cache;
    } else {
      cache.prepare();
      using _lock = await FolderLock.take(join(folder, "lock"), {
        onWait: (owner) => say(`features: process ${owner?.pid ?? "?"} is computing them; waiting for it`),
      }).catch((cause: unknown) => {
        throw cache.refused("written", cause);
      });
      cache.refresh(); // another process may have added to it meanwhile
      say(`features: kept in ${folder}`);
      store = await fill(cache, input, options);
    }
    return store;
  } finally {
    if (store === null) cache[Symbol.dispose]();
  }
}

function keyOf({ dataset, settings, width }: ExtractInput): FeatureKey {
  const { backbone, weightsHash, seed, inputShape, device } = settings;
  return {
    root: realpathSync(resolve(dataset.root)),
    backbone,
    weights: weightsHash ?? `drawn with seed ${seed}`,
    inputShape,
    preprocessing: `${dataset.upright ? "turned upright, " : ""}short side to ${defaultShortSide} at most, resized to the shape, ImageNet's mean and deviation`,
    device: device.split(":")[0],
    width,
  };
}

function folderFor(key: FeatureKey, asked: string | null): string {
  const name = `${basename(key.root).replace(/[^\w.-]+/g, "_") || "root"}-${key.backbone}-${shortHash(key)}`;
  return asked === null ? join(cacheHome(), "nudge", "features", name) : join(resolve(asked), `features-${name}`);
}

interface Place extends SampleId {
  readonly path: string;
}

/** The chunks of which some features are missing, or of pictures that have changed since. */
function chunksMissing({ root, domains }: PictureDataset, { entries }: FeatureStore): Place[][] {
  return domains.flatMap(({ files }, domain) => {
    const chunks: Place[][] = [];
    for (let from = 0; from < files.length; from += CHUNK) {
      const chunk = files.slice(from, from + CHUNK).map((path, i) => ({ domain, index: from + i, path }));
      const known = ({ path }: Place): boolean => isFresh(entries.get(path), stampOf(resolve(root, path)) ?? GONE);
      if (!chunk.every(known)) chunks.push(chunk);
    }
    return chunks;
  });
}

/** The stamp of a file that is not there: known as such, until it comes back. */
const GONE = { bytes: 0, mtime: 0 };

async function fill(store: FeatureStore, input: ExtractInput, options: ExtractOptions): Promise<FeatureStore | null> {
  const { dataset, settings } = input;
  const { say = () => {}, progress = () => {}, shouldStop = () => false } = options;
  const chunks = chunksMissing(dataset, store);
  const total = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (total === 0) return store;
  using pictures = await openPictures(dataset, { cache: false, memoryLimit: 0, device: settings.device });
  const begun = performance.now();
  let waiting: NewFeatures[] = [];
  let done = 0;
  let next = find(pictures, chunks[0]);
  for (const [i, chunk] of chunks.entries()) {
    const found = await next;
    if (i + 1 < chunks.length) next = find(pictures, chunks[i + 1]); // decoded while this one is computed
    waiting.push(...computed(input, pictures, chunk, found));
    done += chunk.length;
    const stop = shouldStop();
    if (stop || (i + 1) % CHUNKS_A_WRITE === 0 || i + 1 === chunks.length) {
      store.add(waiting);
      waiting = [];
    }
    if (stop && done < total) {
      await next.catch(() => {});
      say(`stopped at ${done} of ${total} pictures, whose features are kept`);
      return null;
    }
    const rate = (1000 * done) / (performance.now() - begun);
    const left = ((total - done) / rate).toFixed(0);
    progress(`features: ${done} of ${total} pictures, ${rate.toFixed(0)} a second, ${left} s left`);
    await turn();
  }
  const seconds = (performance.now() - begun) / 1000;
  say(`features: ${total} pictures in ${seconds.toFixed(1)} s, ${(total / seconds).toFixed(0)} a second`);
  return store;
}

type Found = Awaited<ReturnType<PictureStore["find"]>>;

function find(pictures: PictureStore, chunk: readonly Place[]): Promise<Found[]> {
  const finding = Promise.all(chunk.map((place) => pictures.find(place)));
  finding.catch(() => {}); // it is awaited later
  return finding;
}

const isLost = (found: Found): found is LostPicture => "problem" in found;

/** The features of a chunk, and what is wrong with those of its pictures that have none. */
function computed(
  { dataset, settings, forward, width }: ExtractInput,
  pictures: PictureStore,
  chunk: readonly Place[],
  found: readonly Found[],
): NewFeatures[] {
  const source = pictureSource(dataset, pictures, { device: settings.device, channelsLast: true });
  const whole = found.flatMap((each) => (isLost(each) ? [] : [each]));
  const rows = scope(() => {
    if (whole.length === 0) return new Float32Array();
    const x = source.make(whole, (_, w, h, into) => plainDraw(w, h, into));
    const atOnce = settings.device === "cpu" ? AT_ONCE_ON_CPU : CHUNK;
    const parts: Tensor[] = [];
    for (let from = 0; from < x.rows; from += atOnce)
      parts.push(scope(() => noGrad(() => forward(x.narrow(0, from, Math.min(atOnce, x.rows - from))))));
    const bytes = cat(parts).to({ device: "cpu", dtype: "float32" }).bytes();
    return new Float32Array(bytes.slice().buffer);
  });
  let row = 0;
  return chunk.map(({ path }, i): NewFeatures => {
    const stamp = stampOf(resolve(dataset.root, path)) ?? GONE;
    const each = found[i];
    if (isLost(each)) return { path, stamp, outcome: each };
    return { path, stamp, outcome: rows.slice(row * width, ++row * width) };
  });
}
