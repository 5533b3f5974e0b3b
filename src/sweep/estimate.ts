/**
 * Estimates the cost of a sweep from short trials on this machine: one run of each kind (dataset, backbone, method)
 * within the given time, the most frequent kinds first. A kind that was not tried counts as the mean of the others on
 * its dataset and backbone. Updates are scaled by the batch size; a run that stops early takes less.
 */

import { availableParallelism } from "node:os";
import type { SettingsMemo } from "../settings/memo.js";
import { measureRun, type RunCost } from "./measure-run.js";
import type { PlannedRun } from "./sweep-folder.js";

export interface Estimate {
  readonly device: string;
  /** CPU threads of a run. */
  readonly threads: number;
  /** Kinds of runs, and how many of them were tried. */
  readonly kinds: number;
  readonly measured: number;
  /** Seconds of all runs one after the other, by run in the plan's order. */
  readonly seconds: readonly number[];
  /** Bytes of all of them together. */
  readonly disk: number;
  /** Whether some evaluations were taken from the updates and not timed. */
  readonly guessed: boolean;
}

export interface EstimateOptions {
  readonly memo: SettingsMemo;
  readonly device: string;
  /** Seconds that all trials together may take, roughly; one is made in any case. */
  readonly seconds: number;
  /** Called before each trial. */
  readonly onTrial?: (title: string) => void;
  /** Measures a run; for tests. */
  readonly measure?: typeof measureRun;
}

/** Runs of one kind cost the same, but for steps, evaluations and batches. */
function kindOf({ request }: PlannedRun): { place: string; method: string } {
  const { backbone, precision, algorithm, regularizers, averaging, data, probe = false } = request;
  const options = Object.keys(request).filter((name) => name.startsWith("data."));
  const place = JSON.stringify([data, options.map((name) => request[name]), backbone, precision, probe]);
  return { place, method: JSON.stringify([algorithm, regularizers, averaging]) };
}

/** Estimates what some runs would take. */
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
  const byRun = new Map<PlannedRun, { seconds: number; disk: number }>();
  for (const [key, { place, runs: own }] of kinds) {
    const cost = costOf({ key, place });
    for (const run of own) byRun.set(run, costOfRun(run, cost));
  }
  return {
    device,
    threads: Number(runs[0]?.request.threads ?? availableParallelism()),
    kinds: kinds.size,
    measured: costs.size,
    seconds: runs.map((run) => byRun.get(run)!.seconds),
    disk: runs.reduce((total, run) => total + byRun.get(run)!.disk, 0),
    guessed: [...costs.values()].some(({ evaluated }) => !evaluated),
  };
}

/** One kind of every place first, since datasets and backbones differ most; then the most frequent. */
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
    disk: mean((cost) => cost.disk),
    records: mean((cost) => cost.records),
    batchSize: mean((cost) => cost.batchSize),
  };
}

/** What one run takes by the cost of its kind. */
export function costOfRun({ request }: PlannedRun, cost: RunCost): { seconds: number; disk: number } {
  const { steps, evaluateEvery, evaluateFirst, batchSize } = request as Readonly<Record<string, number>>;
  const last = (steps - 1) % evaluateEvery === 0 ? 0 : 1;
  const evaluations = Math.floor((steps - 1) / evaluateEvery) + last + (evaluateFirst ? 1 : 0);
  const updates = steps * cost.update * ((batchSize || cost.batchSize) / cost.batchSize);
  return {
    seconds: cost.start + updates + evaluations * cost.evaluation,
    disk: cost.disk + evaluations * cost.records,
  };
}
