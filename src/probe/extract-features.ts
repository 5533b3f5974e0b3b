/**
 * Features of a dataset's pictures by a frozen backbone, each computed once: pictures as they are (no augmentation), resized
 * and normalised as in evaluation. Pictures are taken in chunks of fixed places in the dataset's order, so that a run that was
 * killed half-way computes the rest in the same batches.
 */

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { PictureDataset } from "../data/dataset.js";
import { defaultShortSide } from "../data/decode.js";
import { inOrder, isLost } from "../data/in-order.js";
import { realFolder } from "../data/picture-blocks.js";
import { type FoundPicture, openPictures, type SampleId } from "../data/picture-store.js";
import { pictureSource, plainTensor, type SampleSource } from "../data/sample-source.js";
import { cat } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, type Tensor } from "../engine/tensor.js";
import { cacheHome } from "../files/cache-home.js";
import { contentOf, stampOf } from "../files/content-store.js";
import { coloursOf, type TrainSettings } from "../settings/settings.js";
import {
  FeatureCache,
  type FeatureKey,
  type FeatureStore,
  FeaturesInMemory,
  type SeenPicture,
} from "./feature-cache.js";

/** Pictures that are decoded and written together. */
const CHUNK = 32;
/**
 * Pictures in a forward pass on a CPU. More make maps of over 32 MB, which the C library has from the system for every use and
 * gives back: with 32 pictures a third of the time goes into clearing them.
 */
const AT_ONCE_ON_CPU = 4;
/** Chunks after which it is known how long the others take, and seconds that are worth saying. */
const MEASURED = 3;
const WORTH_SAYING = 10;
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
  readonly settings: Pick<
    TrainSettings,
    "backbone" | "weightsHash" | "normalization" | "variant" | "seed" | "device" | "cache" | "inputShape"
  >;
  /** The backbone's width, and its features of a batch, [n, width]; it is called only where some are missing. */
  readonly width: number;
  readonly forward: (x: Tensor) => Tensor;
}

/** The features of all pictures of a dataset; null where it was stopped. The store is the caller's to close. */
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
  const colours = normalization === undefined ? "ImageNet's mean and deviation" : `normalized as ${normalization}`;
  return {
    backbone,
    weights: `${weightsHash ?? `drawn with seed ${seed}`}${variant ? ` ${JSON.stringify(variant)}` : ""}`,
    inputShape,
    preprocessing: `${dataset.upright ? "turned upright, " : ""}short side to ${defaultShortSide} at most, resized to the shape, ${colours}`,
    device: device.split(":")[0],
    width,
  };
}

interface Place extends SampleId {
  readonly path: string;
}

/** The chunks of which some features are missing, damaged, or of pictures that have changed since. */
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

/** A picture as it is now. */
async function look(root: string, { path }: Place): Promise<SeenPicture> {
  const file = resolve(root, path);
  const stamp = stampOf(file);
  return { path, stamp, content: await readFile(file).then(contentOf, () => "") };
}

/** The chunks that have to be computed: not those whose pictures all lie, byte for byte, under other names in the store. */
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
  using pictures = await openPictures(dataset, { cache: false, memoryLimit: 0, device: settings.device });
  const begun = performance.now();
  let done = 0;
  const source = pictureSource(dataset, pictures, {
    ...{ device: settings.device, channelsLast: true, colours: coloursOf(settings) },
  });
  const finder = {
    find: async (place: Place) => ({ seen: await look(dataset.root, place), found: await source.find(place) }),
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

/** The features of some pictures, a row each. */
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
