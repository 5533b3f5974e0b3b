/**
 * Estimates the cost of a sweep from short trials on this machine: one run of each kind (dataset, backbone, method)
 * within the given time, the most frequent kinds first. A kind that was not tried counts as the mean of the others on
 * its dataset and backbone. Updates are scaled by the batch size; a run that stops early takes less.
 */

import { defaultThreads } from "../engine/default-threads.js";
import type { SettingsMemo } from "../settings/memo.js";
import { groupKey } from "./combinations.js";
import type { KeptModels } from "./kept-models.js";
import { evaluationsIn, measureRun, type RunCost } from "./measure-run.js";
import type { PlannedRun } from "./sweep-folder.js";

export interface Estimate {
  readonly device: string;
  /** The number of CPU threads per run. */
  readonly threads: number;
  /** The number of kinds of runs, and of those that were tried. */
  readonly kinds: number;
  readonly measured: number;
  /** The seconds of each run, in the order of the plan. */
  readonly seconds: readonly number[];
  /** The size of all runs together, in bytes, by the models that stay. */
  readonly disk: Readonly<Record<KeptModels, number>>;
  /** The largest size of the checkpoint of a run in progress, in bytes. */
  readonly checkpoint: number;
  /** Whether the time of some evaluations was derived from that of updates instead of measured. */
  readonly guessed: boolean;
}

export interface EstimateOptions {
  readonly memo: SettingsMemo;
  readonly device: string;
  /** The approximate time limit of all trials together, in seconds. At least one trial is always run. */
  readonly seconds: number;
  /** Called before each trial. */
  readonly onTrial?: (title: string) => void;
  /** Measures a run; replaced by tests. */
  readonly measure?: typeof measureRun;
}

/** Runs of one kind have the same cost, except for the numbers of steps and evaluations and the batch size. */
function kindOf({ request }: PlannedRun): { place: string; method: string } {
  const { backbone, precision, algorithm, regularizers, averaging, data, probe = false } = request;
  const options = Object.keys(request).filter((name) => name.startsWith("data."));
  const place = JSON.stringify([data, options.map((name) => request[name]), backbone, precision, probe]);
  return { place, method: JSON.stringify([algorithm, regularizers, averaging]) };
}

/** Estimates the cost of some runs. */
export async function estimateRuns(runs: readonly PlannedRun[], options: EstimateOptions): Promise<Estimate> {
  const { memo, device, seconds, onTrial, measure = measureRun } = options;
  const kinds = new Map<string, { place: string; runs: PlannedRun[] }>();
  for (const run of runs) {
    const { place, method } = kindOf(run);
    const kind = kinds.get(place + method);
    if (kind) kind.runs.push(run);
    else kinds.set(place + method, { place, runs: [run] });
  }
  const costs = new Map<string, RunCost>();
  const begun = performance.now();
  const left = (): number => seconds - (performance.now() - begun) / 1000;
  for (const [key] of inOrderOfTrial(kinds)) {
    if (costs.size > 0 && left() <= 0) break;
    const [first] = kinds.get(key)!.runs;
    onTrial?.(first.title);
    costs.set(key, await measure(first.request, { memo, device, seconds: Math.max(left() / 2, 1) }));
  }
  const costOf = ({ key, place }: { key: string; place: string }): RunCost => {
    const own = costs.get(key);
    if (own) return own;
    const near = [...costs].filter(([other]) => kinds.get(other)!.place === place).map(([, cost]) => cost);
    return meanCost(near.length > 0 ? near : [...costs.values()]);
  };
  const byRun = new Map<PlannedRun, OneRun>();
  for (const [key, { place, runs: own }] of kinds) {
    const cost = costOf({ key, place });
    for (const run of own) byRun.set(run, costOfRun(run, cost));
  }
  return {
    device,
    threads: Number(runs[0]?.request.threads ?? defaultThreads()),
    kinds: kinds.size,
    measured: costs.size,
    seconds: runs.map((run) => byRun.get(run)!.seconds),
    disk: diskOf(runs, (run) => byRun.get(run)!),
    checkpoint: Math.max(...[...costs.values()].map(({ checkpoint }) => checkpoint)),
    guessed: [...costs.values()].some(({ evaluated }) => !evaluated),
  };
}

/** The size of some runs, by the models that stay: of all, of the largest in each group, or of none. */
export function diskOf(runs: readonly PlannedRun[], of: (run: PlannedRun) => OneRun): Estimate["disk"] {
  let [none, all] = [0, 0];
  const largest = new Map<string, number>();
  for (const run of runs) {
    const { disk, models } = of(run);
    none += disk;
    all += models;
    const key = groupKey(run);
    largest.set(key, Math.max(largest.get(key) ?? 0, models));
  }
  return { all: none + all, chosen: none + [...largest.values()].reduce((sum, each) => sum + each, 0), none };
}

/** One kind of every dataset and backbone first, because these differ most; then the most frequent kinds. */
function inOrderOfTrial<K extends { place: string; runs: readonly unknown[] }>(kinds: Map<string, K>): [string, K][] {
  const sorted = [...kinds].sort(([, a], [, b]) => b.runs.length - a.runs.length);
  const seen = new Set<string>();
  const first = sorted.filter(([, { place }]) => !seen.has(place) && seen.add(place));
  return [...first, ...sorted.filter((kind) => !first.includes(kind))];
}

function meanCost(costs: readonly RunCost[]): RunCost {
  const mean = (of: (cost: RunCost) => number): number =>
    costs.reduce((total, cost) => total + of(cost), 0) / costs.length;
  return {
    start: mean((cost) => cost.start),
    update: mean((cost) => cost.update),
    evaluation: mean((cost) => cost.evaluation),
    evaluated: costs.every((cost) => cost.evaluated),
    models: mean((cost) => cost.models),
    checkpoint: mean((cost) => cost.checkpoint),
    disk: mean((cost) => cost.disk),
    records: mean((cost) => cost.records),
    batchSize: mean((cost) => cost.batchSize),
  };
}

/** The seconds of a run, and its bytes without and of models. */
export interface OneRun {
  readonly seconds: number;
  readonly disk: number;
  readonly models: number;
}

/** The cost of one run, from the cost of its kind. A run that trains again takes twice as long. */
export function costOfRun({ request }: PlannedRun, cost: RunCost): OneRun {
  const { steps, batchSize } = request as Readonly<Record<string, number>>;
  const evaluations = evaluationsIn(request);
  const updates = steps * cost.update * ((batchSize || cost.batchSize) / cost.batchSize);
  const trainings = request.retrain === true ? 2 : 1;
  return {
    seconds: trainings * (cost.start + updates + evaluations * cost.evaluation),
    disk: trainings * (cost.disk + evaluations * cost.records),
    models: trainings * cost.models,
  };
}
