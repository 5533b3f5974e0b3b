/**
 * Measures pictures per second from files to augmented batches: decoding every time (cold), and from the cache, next to a
 * torchvision DataLoader with the same augmentation. The loaders alternate in one run, and the best round of each is reported.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { PictureDataset } from "../data/dataset.js";
import { Loader } from "../data/loader.js";
import { openDataset } from "../data/open-dataset.js";
import { openPictures, type PictureStore } from "../data/picture-store.js";
import { splitDataset } from "../data/split.js";
import { synchronize, threads } from "../engine/device.js";
import { UsageError } from "../errors.js";
import { Peer } from "./peer.js";

const SCRIPT = fileURLToPath(new URL("../../bench/loader_peer.py", import.meta.url));

export interface LoaderBenchOptions {
  /** A folder of pictures, or the name of a dataset. */
  data: string;
  /** The folder that contains a named dataset. */
  root?: string;
  device: string;
  /** A Python with torchvision, to also time a DataLoader. */
  peer?: string;
  /** The number of worker processes of the peer's loader (default: one per core). */
  workers?: number;
  /** The number of pictures of each domain in a batch. */
  batch: number;
  /** The number of batches per round. */
  steps: number;
  /** The number of rounds; the best one is reported. */
  repeats: number;
  /** The folder of the cache (default: a temporary one). */
  cache?: string;
}

export interface LoaderBench {
  dataset: string;
  pictures: number;
  /** The number of pictures in a batch. */
  batch: number;
  device: string;
  threads: number;
  /** Pictures per second. */
  cold: number;
  cached: number;
  /** Whether cached pictures were in memory or read from the file. */
  store: PictureStore["kind"];
  /** The cost of building the cache. */
  cache: { seconds: number; bytes: number };
  peer?: { title: string; workers: number; rate: number; coldRatio: number; cachedRatio: number };
}

export async function benchLoader(options: LoaderBenchOptions): Promise<LoaderBench> {
  const { device, batch, repeats, workers = availableParallelism() } = options;
  const dataset = await openDataset(options.data, { root: options.root });
  if (dataset.kind !== "pictures") throw new UsageError(`bench loader: dataset ${dataset.id} has no picture files`);
  const folder = options.cache ?? mkdtempSync(join(tmpdir(), "nudge-bench-"));
  try {
    const start = performance.now();
    let bytes = 0;
    const onPlan = (plan: { bytes: number }) => {
      bytes = plan.bytes;
    };
    using cachedPictures = await openPictures(dataset, { cache: folder, device, onPlan });
    const seconds = (performance.now() - start) / 1000;
    using coldPictures = await openPictures(dataset, { cache: false, memoryLimit: 0, device });
    const started = options.peer === undefined ? undefined : await Peer.start(options.peer, threads(), SCRIPT);
    using peer = started?.peer;
    const paths = dataset.domains.flatMap(({ files }) => files.map((file) => resolve(dataset.root, file)));
    const total = batch * dataset.domains.length;
    await peer?.ask({ do: "open", paths, batch: total, workers });

    let [cold, cached, theirs] = [0, 0, 0];
    for (let round = 0; round <= repeats; round++) {
      const rates = [
        await rate(dataset, coldPictures, options, round),
        peer ? (await peer.ask<{ rate: number }>({ do: "run", batches: options.steps })).rate : 0,
        await rate(dataset, cachedPictures, options, round),
      ];
      if (round === 0) continue; // warm-up
      [cold, theirs, cached] = [cold, theirs, cached].map((best, i) => Math.max(best, rates[i]));
    }
    return {
      dataset: dataset.title,
      pictures: paths.length,
      batch: total,
      device,
      threads: threads(),
      cold,
      cached,
      store: cachedPictures.kind,
      cache: { seconds, bytes },
      ...(started && {
        peer: { title: started.title, workers, rate: theirs, coldRatio: cold / theirs, cachedRatio: cached / theirs },
      }),
    };
  } finally {
    if (options.cache === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function loaderFor(
  dataset: PictureDataset,
  pictures: PictureStore,
  seed: number,
  { batch: batchSize, steps, device }: LoaderBenchOptions,
): Loader {
  const split = splitDataset(dataset.domains, { trialSeed: 0 });
  const trainDomains = dataset.domains.map(({ name }) => name);
  return new Loader({ dataset, pictures, split, seed, trainDomains, batchSize, steps, device });
}

/** Pictures per second over a round, from a loader with nothing prepared to one with nothing left to do. */
async function rate(
  dataset: PictureDataset,
  pictures: PictureStore,
  options: LoaderBenchOptions,
  seed: number,
): Promise<number> {
  const loader = loaderFor(dataset, pictures, seed, options);
  let count = 0;
  const start = performance.now();
  for (let step = 0; step < options.steps; step++) {
    using batch = await loader.batch(step);
    count += batch.samples.length;
  }
  synchronize(options.device);
  return (count / (performance.now() - start)) * 1000;
}
