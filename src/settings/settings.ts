/** The settings of a run, resolved: what `settings.json` holds, and what of it names the run. */

import { shortHash } from "../canonical-json.js";
import type { Precision } from "../nn/precision.js";
import type { RunSettings, SettingScalar } from "../records/run.js";

/** The settings in full; with the files they name, they determine every record of a run on the CPU. */
export interface TrainSettings extends RunSettings {
  /** Of this file. */
  readonly format: 1;
  /** 16 hexadecimal digits with which the run folder's name begins. */
  readonly hash: string;
  /** As it was given: a name or a path. */
  readonly data: string;
  readonly root: string | null;
  readonly cache: string | null;
  readonly datasetOptions: Readonly<Record<string, SettingScalar>>;
  readonly splitHash: string;
  readonly classes: readonly string[];
  readonly inputShape: readonly number[];
  readonly backbone: string;
  readonly pretrained: boolean;
  /** The file of starting weights, and the SHA-256 of its bytes (16 digits); null without one. */
  readonly weights: string | null;
  readonly weightsHash: string | null;
  readonly steps: number;
  readonly evaluateEvery: number;
  readonly evaluateFirst: boolean;
  readonly evaluateTraining: boolean;
  readonly checkpointEvery: number;
  readonly holdout: number;
  readonly augmentValidation: boolean;
  readonly batchNormBatches: number;
  readonly device: string;
  readonly precision: Precision;
  readonly threads: number;
  /** What makes this run again, whatever the defaults are then: every key that `nudge train` takes. */
  readonly request: Readonly<Record<string, SettingScalar | readonly string[]>>;
}

/** The run's name: of what changes numbers, and not of paths, device, threads or launcher. */
export function settingsHash(settings: Omit<TrainSettings, "hash" | "request">): string {
  const { data, root, cache, weights, device, threads, given, checkpointEvery, format, ...changesNumbers } = settings;
  return shortHash(changesNumbers);
}

/** The name of a run's folder. */
export function runName({
  hash,
  dataset,
  testDomains,
  algorithm,
  regularizers,
  averaging,
  trialSeed,
}: TrainSettings): string {
  const method = [...averaging.map(({ id }) => id), algorithm, ...regularizers.map(({ id }) => id)].join("+");
  const words = [hash, dataset, testDomains.join("+"), method, `trial${trialSeed}`];
  return words.map((word) => word.replace(/[^\w.+-]+/g, "_")).join("-");
}
