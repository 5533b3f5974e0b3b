/**
 * Computes the features of a dataset's pictures with a frozen backbone, each once. Pictures are not augmented, and are
 * resized and normalized as in evaluation. They are processed in fixed chunks in the order of the dataset, so an
 * interrupted run computes the rest in the same batches.
 */

import { join, resolve } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { isCached } from "../data/cache.js";
import type { PictureDataset } from "../data/dataset.js";
import { inOrder, isLost } from "../data/in-order.js";
import { realFolder } from "../data/picture-blocks.js";
import { type FoundPicture, openPictures, type SampleId } from "../data/picture-store.js";
import { pictureSource, plainTensor, type SampleSource } from "../data/sample-source.js";
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { cacheHome } from "../files/cache-home.js";
import { contentOf, stampOf } from "../files/content-store.js";
import { MOST_PICTURE_BYTES, readBytesLater } from "../files/open-file.js";
import { framingOf, scalingOf } from "../settings/preprocessing.js";
import { coloursOf, type TrainSettings } from "../settings/settings.js";
import {
  FeatureCache,
  type FeatureKey,
  type FeatureStore,
  FeaturesInMemory,
  type SeenPicture,
} from "./feature-cache.js";

/** The number of pictures that are decoded and written together. */
const CHUNK = 32;
/**
 * The number of pictures in a forward pass on a CPU. With more, feature maps exceed 32 MB, and the C library then
 * requests and returns their memory for every use: with 32 pictures, a third of the time is spent on clearing it.
 */
const AT_ONCE_ON_CPU = 4;
/**
 * The number of chunks after which the remaining time is estimated, and the shortest time in seconds that is reported.
 */
const MEASURED = 3;
const WORTH_SAYING = 10;
/** The number of chunks between two writes. */
const CHUNKS_A_WRITE = 16;

export interface ExtractOptions {
  /** Receives messages about the progress and the location of the features. */
  say?: (text: string) => void;
  /** Receives the progress. */
  progress?: (text: string) => void;
  /** Called after every chunk. If it returns true, the extraction stops; computed features are kept. */
  shouldStop?: () => boolean;
}

export interface ExtractInput {
  readonly dataset: PictureDataset;
  readonly settings: Pick<
    TrainSettings,
    | "backbone"
    | "weightsHash"
    | "normalization"
    | "variant"
    | "seed"
    | "device"
    | "cache"
    | "inputShape"
    | "evaluationSize"
    | "size"
    | "resize"
    | "interpolation"
  >;
  /**
   * The width of the backbone, and a function that computes the features [n, width] of a batch. It is called only if
   * features are missing.
   */
  readonly width: number;
  readonly forward: (x: Tensor) => Tensor;
}

/** The features of all pictures of a dataset, or null if it was stopped. The caller closes the store. */
export async function extractFeatures(input: ExtractInput, options: ExtractOptions = {}): Promise<FeatureStore | null> {
  const { dataset, settings } = input;
  const { say = () => {} } = options;
  if (settings.cache === "false") return fill(new FeaturesInMemory(), input, options);
  const folder = settings.cache === null ? join(cacheHome(), "nudge", "features") : resolve(settings.cache);
  const cache = new FeatureCache(folder, realFolder(dataset.root), keyOf(input));
  let store: FeatureStore | null = null;
  try {
    if (chunksMissing(dataset, cache).length === 0) {
      say(`features: read from ${folder}`);
      store = cache;
    } else {
      using _lock = await cache.take({
        onWait: (owner) => say(`features: process ${owner?.pid ?? "?"} is computing them; waiting for it`),
      });
      say(`features: cached in ${folder}`);
      store = await fill(cache, input, options);
    }
    return store;
  } finally {
    if (store === null) cache[Symbol.dispose]();
  }
}

function keyOf({ dataset, settings, width }: ExtractInput): FeatureKey {
  const { backbone, weightsHash, seed, inputShape, device, normalization, variant } = settings;
  const { shortSide, filter } = scalingOf(settings);
  const { resize } = framingOf(settings);
  const how = resize === undefined ? "resized to the shape" : `short side resized to ${resize}, centre cropped`;
  const colours = normalization === undefined ? "ImageNet's mean and deviation" : `normalized as ${normalization}`;
  return {
    backbone,
    weights: `${weightsHash ?? `drawn with seed ${seed}`}${variant ? ` ${JSON.stringify(variant)}` : ""}`,
    inputShape,
    preprocessing: `${dataset.upright ? "turned upright, " : ""}short side to ${shortSide} at most, ${how}${filter ? ` (${filter})` : ""}, ${colours}`,
    device: device.split(":")[0],
    width,
  };
}

interface Place extends SampleId {
  readonly path: string;
}

/** The chunks with features that are missing, damaged, or of pictures that have changed. */
function chunksMissing({ root, domains }: PictureDataset, store: FeatureStore): Place[][] {
  return domains.flatMap(({ files }, domain) => {
    const chunks: Place[][] = [];
    for (let from = 0; from < files.length; from += CHUNK) {
      const chunk = files.slice(from, from + CHUNK).map((path, i) => ({ domain, index: from + i, path }));
      const known = ({ path }: Place): boolean => store.isKnown(path, stampOf(resolve(root, path)));
      if (!chunk.every(known)) chunks.push(chunk);
    }
    return chunks;
  });
}

/** The current state of a picture. */
async function look(root: string, { path }: Place): Promise<SeenPicture> {
  const file = resolve(root, path);
  const stamp = stampOf(file);
  return { path, stamp, content: await readBytesLater(file, { most: MOST_PICTURE_BYTES }).then(contentOf, () => "") };
}

/**
 * The chunks that have to be computed. Chunks whose pictures are all stored under other names, with identical bytes,
 * are excluded.
 */
async function chunksToCompute(dataset: PictureDataset, store: FeatureStore): Promise<Place[][]> {
  const left: Place[][] = [];
  for (const chunk of chunksMissing(dataset, store))
    if (!store.takeKnown(await Promise.all(chunk.map((place) => look(dataset.root, place))))) left.push(chunk);
  store.flush();
  return left;
}

async function fill(store: FeatureStore, input: ExtractInput, options: ExtractOptions): Promise<FeatureStore | null> {
  const { dataset, settings } = input;
  const { say = () => {}, progress = () => {}, shouldStop = () => false } = options;
  const chunks = await chunksToCompute(dataset, store);
  const total = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (total === 0) return store;
  const scaling = scalingOf(settings);
  const folder = settings.cache ?? undefined;
  // A cache that is complete is read. It is not built for this, because every picture is needed only once.
  const cache = folder !== "false" && isCached(dataset, { folder, ...scaling }) && (folder ?? true);
  using pictures = await openPictures(dataset, { cache, memoryLimit: 0, device: settings.device, ...scaling });
  if (cache !== false) say("pictures: read from the cache of decoded pictures");
  const begun = performance.now();
  let done = 0;
  const source = pictureSource(dataset, pictures, {
    ...{ device: settings.device, channelsLast: true, colours: coloursOf(settings), framing: framingOf(settings) },
  });
  const finder = {
    find: (places: readonly Place[]) => {
      const seen = places.map((place) => look(dataset.root, place));
      // A picture is decoded after its state was read. If it changes in between, its features are computed again next time.
      const found = Promise.all(seen).then(() => source.find(places));
      return places.map(async (_, i) => ({ seen: await seen[i], found: await (await found)[i] }));
    },
  };
  let i = 0;
  for await (const { found: chunk } of inOrder(chunks, finder)) {
    const readable = chunk.flatMap(({ found }) => (isLost(found) ? [] : [found]));
    const rows = computed(input, source, readable);
    for (const { seen, found } of chunk) store.add(seen, isLost(found) ? found : rows.shift()!);
    i++;
    done += chunk.length;
    const stop = shouldStop();
    if (stop || i % CHUNKS_A_WRITE === 0 || i === chunks.length) store.flush();
    if (stop && done < total) {
      say(`stopped at ${done} of ${total} pictures, whose features are kept`);
      return null;
    }
    const rate = (1000 * done) / (performance.now() - begun);
    const left = ((total - done) / rate).toFixed(0);
    if (i === MEASURED && Number(left) >= WORTH_SAYING)
      say(`features: about ${left} s for the other ${total - done} pictures, as measured just now`);
    progress(`features: ${done} of ${total} pictures, ${rate.toFixed(0)} a second, ${left} s left`);
    await turn();
  }
  const seconds = (performance.now() - begun) / 1000;
  say(`features: ${total} pictures in ${seconds.toFixed(1)} s, ${(total / seconds).toFixed(0)} per second`);
  return store;
}

/** The features of some pictures, one row each. */
function computed(
  { settings, forward, width }: ExtractInput,
  source: SampleSource<FoundPicture>,
  found: readonly FoundPicture[],
): Float32Array[] {
  using x = plainTensor(source, found);
  if (!x) return [];
  const rows = scope(() => {
    const atOnce = settings.device === "cpu" ? AT_ONCE_ON_CPU : CHUNK;
    const parts: Tensor[] = [];
    for (let from = 0; from < x.rows; from += atOnce)
      parts.push(scope(() => noGrad(() => forward(x.narrow(0, from, Math.min(atOnce, x.rows - from))))));
    const bytes = cat(parts).to({ device: "cpu", dtype: "float32" }).bytes();
    return new Float32Array(bytes.slice().buffer);
  });
  return found.map((_, row) => rows.slice(row * width, (row + 1) * width));
}
