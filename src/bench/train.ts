/**
 * Measures training from end to end, as `nudge train` runs it, next to DomainBed's loop in PyTorch: pictures from files to
 * augmented batches, forward, backward, Adam; then an evaluation of every split of every domain. The two loops run one after
 * the other and do not alternate, because the worker processes of a DataLoader continue to fill their queues while they are not
 * timed. Each figure is therefore the mean over many steps, not the best of several rounds. Before timing starts, all pictures
 * have been read once and there were enough warm-up steps: for NUDGE until the update is captured, for the peer until its
 * prefilled queues are empty.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import { fileURLToPath } from "node:url";
import type { Dataset, PictureDataset } from "../data/dataset.js";
import { evenlyChosen } from "../data/evenly-chosen.js";
import { type SplitName, splitDataset } from "../data/split.js";
import { threads } from "../engine/device.js";
import { UsageError } from "../errors.js";
import { SettingsMemo } from "../settings/memo.js";
import { type Plan, resolve } from "../settings/resolve.js";
import { Peer } from "./peer.js";
import { type Timed, timeTraining } from "./train-timing.js";

const SCRIPT = fileURLToPath(new URL("../../bench/domainbed_peer.py", import.meta.url));

/** The number of worker processes that DomainBed uses for each of its loaders. */
const MOST_WORKERS = 8;

export interface TrainBenchOptions {
  /** A folder of pictures, or the name of a dataset in `root`. */
  data: string;
  root?: string;
  /** The held-out domain (default: the first one). */
  testDomain?: string;
  /** The maximum number of pictures of each domain, evenly spaced. */
  limit?: number;
  algorithm: string;
  backbone: string;
  /** A file of initial weights (default: random weights). */
  weights?: string;
  device: string;
  precision: string;
  /** The number of pictures of each training domain in a batch. */
  batch: number;
  /** The number of timed steps. */
  steps: number;
  /** The number of pictures in a batch of an evaluation (default: as in `nudge train`). */
  evaluationBatch?: number;
  /** A Python with torchvision, to also time DomainBed's loop. */
  peer?: string;
  /** The number of worker processes of each of the peer's loaders (default: one per core, at most 8). */
  workers?: number;
  /** The folder of the cache (default: a temporary one). */
  cache?: string;
}

export interface TrainBench {
  dataset: string;
  pictures: number;
  testDomain: string;
  /** The name in papers: `ERM`, `ERM + NU`. */
  method: string;
  backbone: string;
  /** The initial weights of the backbone. */
  weights: "random" | "trained";
  device: string;
  threads: number;
  precision: string;
  /** The number of pictures in a batch. */
  batch: number;
  steps: number;
  ours: Timed;
  peer?: PeerTimes & { title: string; workers: number; stepRatio: number; evaluationRatio: number };
}

/** The response of the peer. */
interface PeerTimes {
  stepMs: number;
  evaluationSeconds: number;
}

/** Times training steps and an evaluation. */
export async function benchTrain(options: TrainBenchOptions): Promise<TrainBench> {
  const plan = await planOf(options);
  const { settings, dataset, algorithm, regularizers } = plan;
  if (options.peer !== undefined && !peerKnows(plan))
    throw new UsageError(
      `bench train --peer: the peer trains by ERM or ERM-NU, not ${options.algorithm}; leave out --peer`,
    );
  const folder = options.cache ?? mkdtempSync(join(tmpdir(), "nudge-train-bench-"));
  try {
    const withCache = { ...plan, settings: { ...settings, cache: folder } };
    const ours = await timeTraining(withCache, options.steps, options);
    return {
      dataset: dataset.title,
      pictures: dataset.domains.reduce((sum, { count }) => sum + count, 0),
      testDomain: settings.testDomains[0],
      method: [algorithm, ...regularizers].map(({ title }) => title).join(" + "),
      backbone: settings.backbone,
      weights: settings.weights === null ? "random" : "trained",
      device: settings.device,
      threads: threads(),
      precision: settings.precision,
      batch: options.batch * (dataset.domains.length - 1),
      steps: options.steps,
      ours,
      ...(options.peer !== undefined && { peer: await timePeer(plan, options, ours, options.peer) }),
    };
  } finally {
    if (options.cache === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** The run as `nudge train` resolves it, but always with frozen batch norm, as is usual for fine-tuning. */
export async function planOf(
  options: Omit<TrainBenchOptions, "steps" | "peer" | "workers" | "cache">,
  memo = new SettingsMemo(),
): Promise<Plan & { dataset: PictureDataset }> {
  const { data, root, algorithm, backbone, weights, device, precision, batch, limit } = options;
  const whole = await memo.dataset(data, { root, options: {} });
  const testDomain = options.testDomain ?? whole.domains[0].name;
  const request = {
    ...{ data, root, algorithm, backbone, device, precision, testDomains: [testDomain] },
    ...(weights === undefined ? { pretrained: false } : { weights }),
    ...{ freezeBatchNorm: true, batchSize: batch },
    nearDuplicates: "ignore", // the search decodes every picture, and is not what is measured
  };
  const settled = await resolve(request, memo);
  // The penalty is active from the first step, because most updates of a run include it.
  const plan = settled.regularizers.some(({ settings }) => "warmup" in settings)
    ? await resolve({ ...request, ...withoutWarmUp(settled) }, memo)
    : settled;
  const { dataset } = plan;
  if (dataset.kind !== "pictures") throw new UsageError(`bench train: dataset ${dataset.id} has no picture files`);
  if (limit === undefined) return { ...plan, dataset };
  const { trialSeed, testDomains, holdout } = plan.settings;
  const smaller = limited(dataset, limit);
  return { ...plan, dataset: smaller, split: splitDataset(smaller.domains, { trialSeed, testDomains, holdout }) };
}

const withoutWarmUp = ({ regularizers }: Plan): Record<string, number> =>
  Object.fromEntries(
    regularizers.filter(({ settings }) => "warmup" in settings).map(({ id }) => [`${id}.warmup`, 0] as const),
  );

function limited(dataset: PictureDataset, most: number): PictureDataset {
  const domains = dataset.domains.map((domain) => {
    const places = evenlyChosen([...domain.files.keys()], most);
    return {
      ...domain,
      count: places.length,
      files: places.map((i) => domain.files[i]),
      labels: Int32Array.from(places, (i) => domain.labels[i]),
    };
  });
  return { ...dataset, domains };
}

const peerKnows = ({ algorithm, regularizers }: Plan): boolean =>
  algorithm.id === "erm" && regularizers.every(({ id }) => id === "nuclear-norm");

/** DomainBed's loop on the same pictures, splits and sizes. The penalty, if any, is computed by the two lines of the paper. */
async function timePeer(
  plan: Plan & { dataset: PictureDataset },
  options: TrainBenchOptions,
  ours: Timed,
  python: string,
): Promise<NonNullable<TrainBench["peer"]>> {
  const { settings, dataset, regularizers } = plan;
  const { device, backbone, hparams } = settings;
  const workers = options.workers ?? Math.min(MOST_WORKERS, availableParallelism());
  const { peer: started, title } = await Peer.start(python, threads(), SCRIPT);
  using peer = started;
  await peer.ask({
    do: "open",
    ...{ device, backbone, workers, batch: options.batch, lr: hparams.lr, classes: dataset.classes.length },
    penalty: regularizers[0]?.settings.weight ?? 0,
    domains: dataset.domains.map((domain) => ({
      trains: !settings.testDomains.includes(domain.name),
      splits: (["in", "out"] as const).map((part) => picturesOf(plan, domain.name, part)),
    })),
  });
  const times = await peer.ask<PeerTimes>({ do: "time", steps: options.steps });
  return {
    ...{ title, workers, ...times },
    stepRatio: times.stepMs / ours.stepMs,
    evaluationRatio: times.evaluationSeconds / ours.evaluationSeconds,
  };
}

function picturesOf({ dataset, split }: { dataset: Dataset; split: Plan["split"] }, name: string, part: SplitName) {
  const domain = dataset.domains.find((each) => each.name === name);
  if (dataset.kind !== "pictures" || !domain?.files) throw new TypeError(`files of ${name}`); // planOf rejects it
  const places = split.get(name)?.[part] ?? [];
  return {
    paths: places.map((i) => resolvePath(dataset.root, domain.files[i])),
    labels: places.map((i) => domain.labels[i]),
  };
}
