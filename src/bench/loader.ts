/**
 * Measures pictures per second from files to augmented batches: decoding every time (cold), and from the cache, next to a
 * torchvision DataLoader with the same augmentation. The loaders alternate in one run, and the best round of each is reported.
 * Then it measures training steps on batches from the cache, and the share of their time that is spent waiting for data.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { backboneNamed } from "../backbones/index.js";
import { usesChannelsLast } from "../backbones/layout.js";
import type { PictureDataset } from "../data/dataset.js";
import { Loader } from "../data/loader.js";
import { openDataset } from "../data/open-dataset.js";
import { openPictures, type PictureStore } from "../data/picture-store.js";
import { splitDataset } from "../data/split.js";
import { synchronize, threads } from "../engine/device.js";
import { Random } from "../engine/random.js";
import { scope } from "../engine/scope.js";
import { UsageError } from "../errors.js";
import { crossEntropy, Linear } from "../nn/index.js";
import { Adam } from "../optim/index.js";
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
  /** The backbone to train for the share of waiting; if absent, nothing is trained. */
  backbone?: string;
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
  /** Training steps on cached pictures. */
  training?: { backbone: string; steps: number; stepMs: number; waitMs: number; share: number };
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
      ...(options.backbone && { training: await trainingShare(dataset, cachedPictures, options, options.backbone) }),
    };
  } finally {
    if (options.cache === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function loaderFor(
  dataset: PictureDataset,
  pictures: PictureStore,
  seed: number,
  { batch: batchSize, steps, device, channelsLast }: LoaderBenchOptions & { channelsLast?: boolean },
): Loader {
  const split = splitDataset(dataset.domains, { trialSeed: 0 });
  const trainDomains = dataset.domains.map(({ name }) => name);
  return new Loader({ dataset, pictures, split, seed, trainDomains, batchSize, steps, device, channelsLast });
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

/** Trains for a few steps. The waiting time is the time until a batch is ready, including its augmentation. */
async function trainingShare(
  dataset: PictureDataset,
  pictures: PictureStore,
  options: LoaderBenchOptions,
  name: string,
): Promise<NonNullable<LoaderBench["training"]>> {
  const { device } = options;
  const steps = 3;
  const random = new Random(0, ["bench"]);
  using backbone = backboneNamed(name).build({ foldBatchNorm: true });
  using head = new Linear(backbone.width, dataset.classes.length);
  const { inputShape } = dataset;
  const channelsLast = usesChannelsLast({ backbone: name, inputShape, device, precision: "float32" });
  const memoryFormat = channelsLast ? "channels_last" : undefined;
  for (const module of [backbone, head]) module.initialize(random).to({ device, memoryFormat }).train();
  using optimizer = new Adam([...backbone.parameters(), ...head.parameters()], { lr: 5e-5 });
  const loader = loaderFor(dataset, pictures, 0, { ...options, steps: steps + 1, channelsLast });
  let [all, waiting] = [0, 0];
  for (let step = 0; step <= steps; step++) {
    const start = performance.now();
    using batch = await loader.batch(step);
    synchronize(device);
    const ready = performance.now();
    scope(() => {
      const loss = crossEntropy(head.forward(backbone.forward(batch.x)), batch.y);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
    });
    synchronize(device);
    if (step === 0) continue; // warm-up
    waiting += ready - start;
    all += performance.now() - start;
  }
  return { backbone: name, steps, stepMs: all / steps, waitMs: waiting / steps, share: waiting / all };
}
