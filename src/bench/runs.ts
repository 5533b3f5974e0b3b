/**
 * Measures whole runs of a small network on a dataset of arrays, such as ColoredMNIST: the wall time and the processor time of a run in its
 * own process, of a sweep by several processes, and the time that the kernels of a GPU take. If the kernels take much less
 * time than the runs, the GPU waits for the host.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Loader } from "../data/loader.js";
import { setThreads, synchronize } from "../engine/device.js";
import { loadNative } from "../engine/load.js";
import { UsageError } from "../errors.js";
import { CURRENT } from "../records/record.js";
import { SettingsMemo } from "../settings/memo.js";
import { resolve } from "../settings/resolve.js";
import { growPlan } from "../sweep/grow-plan.js";
import { makePlan } from "../sweep/make-plan.js";
import { DevicePredictions } from "../training/device-predictions.js";
import { evaluate } from "../training/evaluate.js";
import { makeLearner } from "../training/make-learner.js";
import { loaderOptions, openSamples } from "../training/samples.js";
import { Updates } from "../training/updates.js";
import { writeDigits } from "./made-digits.js";
import { Peer } from "./peer.js";

const SCRIPT = fileURLToPath(new URL("../../bench/runs_peer.py", import.meta.url));

export interface RunsBenchOptions {
  data: string;
  /** The folder of the dataset; by default digits are generated, as many as MNIST has. */
  root?: string;
  /** The number of generated digits. */
  digits: number;
  algorithm: string;
  device: string;
  /** The numbers of updates of the single runs. */
  steps: readonly number[];
  /** The runs of a sweep, with the last of these numbers of updates; 0 for no sweep. */
  runs: number;
  /** The numbers of processes: a sweep is measured with each of them. */
  workers: readonly number[];
  /** Numbers of samples in a batch of the measured evaluation, besides the default. */
  evaluationBatches?: readonly number[];
  /** A Python with torch. */
  peer?: string;
  /** Called after each part with everything that has been measured. */
  onPart?: (soFar: RunsBench) => void;
}

/** The time of some processes in seconds. */
interface Cost {
  readonly wall: number;
  /** The time of all processor cores. */
  readonly processor: number;
}

interface Kernels {
  /** Seconds without the profiler. */
  readonly wall: number;
  /** Seconds until the host had launched everything. */
  readonly launched: number;
  /** Seconds of all kernels on a GPU. */
  readonly device: number;
  /** The slowest kernels. */
  readonly slowest: readonly { readonly name: string; readonly count: number; readonly seconds: number }[];
}

export interface RunsBench {
  readonly dataset: string;
  readonly algorithm: string;
  readonly backbone: string;
  readonly device: string;
  readonly precision: string;
  readonly pictures: number;
  readonly isGenerated: boolean;
  /** Of some updates, and of one evaluation. */
  readonly updates: Kernels & { readonly count: number };
  readonly evaluation: Kernels;
  /** The evaluation by the number of samples in a batch. */
  readonly byBatch: Readonly<Record<string, Omit<Kernels, "slowest">>>;
  readonly single: readonly (Cost & {
    readonly steps: number;
    readonly evaluations: number;
    /** The part of the wall time from the first update to the last evaluation. */
    readonly training: number;
  })[];
  readonly sweeps: readonly (Cost & { readonly runs: number; readonly workers: number; readonly steps: number })[];
  readonly peer?: {
    readonly title: string;
    readonly updates: number;
    readonly evaluation: number;
    /** The evaluation by the number of samples in a batch. */
    readonly byBatch: Readonly<Record<string, number>>;
  };
}

/** The datasets that are made of MNIST's files. */
const OF_DIGITS = ["colored-mnist", "rotated-mnist"];

/** The number of updates that are timed. */
const timedOn = (device: string): number => (device === "cpu" ? 5 : 100);
const WARM_UP = 5;

export async function benchRuns(options: RunsBenchOptions, command: readonly string[]): Promise<RunsBench> {
  const { data, algorithm, device, runs, onPart } = options;
  const place = mkdtempSync(join(tmpdir(), "nudge-runs-bench-"));
  try {
    const isGenerated = options.root === undefined && OF_DIGITS.includes(data);
    const root = isGenerated ? join(place, "digits") : options.root;
    if (isGenerated) writeDigits(root!, options.digits);
    const memo = new SettingsMemo();
    const dataset = await memo.dataset(data, { root, options: {} });
    if (dataset.kind !== "arrays") throw new UsageError(`bench runs: dataset ${data} has picture files, not arrays`);
    const testDomains = [dataset.domains.at(-1)!.name];
    const plan = await resolve({ data, root, algorithm, device, testDomains }, memo);
    let result: RunsBench = {
      ...{ dataset: dataset.title, algorithm: plan.algorithm.title, backbone: plan.settings.backbone },
      ...{ device, precision: plan.settings.precision, isGenerated },
      pictures: dataset.domains.reduce((sum, { count }) => sum + count, 0),
      ...(await measure(plan, options.evaluationBatches ?? [])),
      ...{ single: [], sweeps: [] },
    };
    const add = (part: Partial<RunsBench>): void => {
      result = { ...result, ...part };
      onPart?.(result);
    };
    add({});
    const run = { data, root, algorithm, device, testDomain: testDomains[0] };
    for (const steps of options.steps)
      add({ single: [...result.single, singleRun(command, { ...run, steps, out: join(place, `single-${steps}`) })] });
    const steps = options.steps.at(-1)!;
    for (const workers of runs > 0 ? options.workers : []) {
      const folder = join(place, `sweep-${workers}`);
      const { testDomain: _, algorithm: __, ...shared } = run;
      const given = { ...shared, steps, trials: runs, algorithms: algorithm, testDomains: testDomains[0] };
      const planned = await makePlan({ given });
      await growPlan(folder, planned.words, planned.runs);
      const how = ["sweep", "run", folder, "--launcher", "local", "-o", `jobs=${workers}`, "--device", device];
      add({ sweeps: [...result.sweeps, { ...costOf([...command, ...how]), runs, workers, steps }] });
    }
    if (options.peer !== undefined) add({ peer: await timePeer(plan, options.peer) });
    return result;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** A run by `nudge train`. */
function singleRun(
  command: readonly string[],
  run: {
    data: string;
    root?: string;
    algorithm: string;
    device: string;
    testDomain: string;
    steps: number;
    out: string;
  },
): RunsBench["single"][number] {
  const { data, root, algorithm, device, testDomain, steps, out } = run;
  const where = root === undefined ? [] : ["--root", root];
  const words = ["train", "--data", data, ...where, `--test-domain=${testDomain}`, "--quiet"];
  const rest = ["--algorithm", algorithm, "--device", device, "--out", out];
  const cost = costOf([...command, ...words, ...rest, `steps=${steps}`]);
  const rows = readFileSync(join(out, "latest", "timing.jsonl"), "utf8")
    .trim()
    .split("\n");
  const { seconds: training } = JSON.parse(rows.at(-1)!) as { seconds: number };
  return { ...cost, steps, training, evaluations: rows.length };
}

/** Runs a command and measures it, with all processes that it starts and waits for. */
function costOf([program, ...words]: readonly string[]): Cost {
  const before = childrenSeconds();
  const start = performance.now();
  const child = spawnSync(program, words, { encoding: "utf8" });
  if (child.status !== 0) throw new Error(`bench runs: ${words.join(" ")} failed: ${child.stderr.trim()}`);
  return { wall: (performance.now() - start) / 1000, processor: childrenSeconds() - before };
}

/** The processor time of the ended children of this process, as Linux counts it: in hundredths of a second. */
function childrenSeconds(): number {
  const fields = readFileSync("/proc/self/stat", "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

type Plan = Awaited<ReturnType<typeof resolve>>;

/** The updates and an evaluation of a run, in this process. */
async function measure(
  plan: Plan,
  evaluationBatches: readonly number[],
): Promise<Pick<RunsBench, "updates" | "evaluation" | "byBatch">> {
  const { device, threads } = plan.settings;
  setThreads(threads);
  using samples = (await openSamples(plan))!;
  using loader = new Loader(loaderOptions(plan, samples));
  using learner = makeLearner(plan);
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  using updates = new Updates(learner, loader, { device, say });
  let next = 0;
  const train = async (count: number): Promise<void> => {
    const end = next + count;
    while (next < end) next = (await updates.make(next, end - 1)) + 1;
  };
  const judge = async (predictions: DevicePredictions, batchSize?: number): Promise<number> => {
    const start = performance.now();
    let launched = Number.NaN;
    const { areRight, ...options } = predictions.forEvaluation();
    await evaluate({
      ...{ ...options, loader, batchSize, split: plan.split, step: 0, model: CURRENT },
      areRight() {
        launched = performance.now() - start;
        return areRight();
      },
    });
    return launched / 1000;
  };
  const timed = timedOn(device);
  await train(WARM_UP);
  const judged = async (batchSize?: number): Promise<Kernels> => {
    using predictions = new DevicePredictions(learner, { device, say });
    await judge(predictions, batchSize);
    return await kernelsOf(device, () => judge(predictions, batchSize)); // the predictions are freed after it
  };
  const ofUpdates = await kernelsOf(device, async () => {
    const start = performance.now();
    await train(timed);
    return (performance.now() - start) / 1000;
  });
  updates.collect(); // numbers that are not finite are an error
  const evaluation = await judged();
  const byBatch: Record<string, Omit<Kernels, "slowest">> = {};
  for (const size of evaluationBatches) {
    const { slowest: _, ...times } = await judged(size);
    byBatch[size] = times;
  }
  return { updates: { ...ofUpdates, count: timed }, evaluation, byBatch };
}

/** Times some work, and then its kernels on a GPU. The work returns the seconds until it was launched. */
async function kernelsOf(device: string, work: () => Promise<number>): Promise<Kernels> {
  synchronize(device);
  const start = performance.now();
  const launched = await work();
  synchronize(device);
  const wall = (performance.now() - start) / 1000;
  if (device === "cpu") return { wall, launched, device: wall, slowest: [] };
  const native = loadNative();
  native.profileStart();
  await work();
  synchronize(device);
  const kernels = native
    .profileStop()
    .map(({ name, count, nanoseconds }) => ({ name, count, seconds: nanoseconds / 1e9 }))
    .sort((a, b) => b.seconds - a.seconds);
  const sum = kernels.reduce((total, { seconds }) => total + seconds, 0);
  return { wall, launched, device: sum, slowest: kernels.slice(0, 24) };
}

/** The same updates and evaluations in PyTorch, captured as CUDA graphs on a GPU, with the samples on the device. */
async function timePeer({ settings, dataset, split }: Plan, python: string) {
  const { peer: started, title } = await Peer.start(python, settings.threads, SCRIPT);
  using peer = started;
  const { device, hparams } = settings;
  const [channels, ...size] = dataset.inputShape;
  const times = await peer.ask<Omit<NonNullable<RunsBench["peer"]>, "title">>({
    do: "time",
    ...{ device, channels, size, classes: dataset.classes.length, lr: hparams.lr, batch: hparams.batchSize },
    domains: dataset.domains.length - settings.testDomains.length,
    samples: [...split.values()].reduce((sum, parts) => sum + parts.in.length + parts.out.length, 0),
    updates: timedOn(device),
  });
  return { title, ...times };
}
