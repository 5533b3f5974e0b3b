/**
 * A sweep folder with any number of made-up runs in it, for tests of scale: a plan, and run folders as `nudge train` leaves
 * them (settings, records of a few evaluations, done), without the training.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { algorithms } from "../../src/algorithms/index.js";
import { formatRecord, type RunRecord } from "../../src/records/record.js";
import { type PlannedRun, sweepPaths, writePlan } from "../../src/sweep/sweep-folder.js";
import { pacsDomains } from "./report-runs.js";

const METHODS = Object.keys(algorithms);
const TRIALS = 3;

export interface ManyRuns {
  /** Runs in the plan. */
  readonly count: number;
  /** How many of them have folders; all unless told. */
  readonly made?: number;
  /** Evaluations in each run's records (default: 3). */
  readonly evaluations?: number;
}

/** Writes a sweep of ever more draws of every algorithm, each domain of PACS held out, in three trials. */
export function writeManyRuns(folder: string, { count, made = count, evaluations = 3 }: ManyRuns): PlannedRun[] {
  const runs = Array.from({ length: count }, (_, i) => plannedRun(i));
  writePlan(folder, { name: "many", protocol: ["Made up."], requests: [] }, runs);
  const { runs: parent, run: runFolder } = sweepPaths(folder);
  mkdirSync(parent, { recursive: true });
  for (const [i, run] of runs.slice(0, made).entries()) {
    const own = runFolder(run.name);
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, "settings.json"), `${JSON.stringify(settingsOf(run, i), null, 2)}\n`);
    writeFileSync(join(own, "records.jsonl"), recordsOf(i, evaluations));
    writeFileSync(join(own, "done"), '{ "step": 200 }\n');
  }
  return runs;
}

/** Which combination the i-th run is: test domain, then method, then trial, then draw. */
const partsOf = (i: number) => ({
  heldOut: pacsDomains[i % 4],
  algorithm: METHODS[Math.floor(i / 4) % METHODS.length],
  trialSeed: Math.floor(i / 4 / METHODS.length) % TRIALS,
  hparamsSeed: Math.floor(i / 4 / METHODS.length / TRIALS),
});

function plannedRun(i: number): PlannedRun {
  const { heldOut, algorithm, trialSeed, hparamsSeed } = partsOf(i);
  // Any 16 digits that tell runs apart, spread as those of a hash are.
  const id = (BigInt(i + 1) * 0x9e37_79b9_7f4a_7c15n).toString(16).slice(-16).padStart(16, "0");
  return {
    id,
    name: `${id}-pacs-${heldOut}-${algorithm}-trial${trialSeed}`,
    title: `pacs · ${heldOut} held out · ${algorithm} · trial ${trialSeed} · draw ${hparamsSeed}`,
    request: {
      ...{ data: "pacs", testDomains: [heldOut], algorithm, regularizers: [], averaging: [], backbone: "resnet50" },
      ...{
        steps: 5001,
        evaluateEvery: 300,
        trialSeed,
        hparamsSeed,
        seed: 0,
        lr: hparamsSeed === 0 ? 5e-5 : 5e-5 * (1 + (i % 7)),
        batchSize: 32,
      },
    },
  };
}

function settingsOf({ id, request }: PlannedRun, i: number): object {
  const { heldOut, algorithm, trialSeed, hparamsSeed } = partsOf(i);
  return {
    ...{ format: 1, data: "pacs", root: "data", cache: null, dataset: "pacs", datasetOptions: {} },
    ...{ domains: pacsDomains, testDomains: [heldOut], splitHash: `00000000000000${trialSeed}0`, algorithm },
    classes: ["dog", "elephant", "giraffe", "guitar", "horse", "house", "person"],
    ...{ inputShape: [3, 224, 224], regularizers: [], averaging: [], backbone: "resnet50", pretrained: true },
    ...{ weights: "resnet50.safetensors", weightsHash: "0123456789abcdef", seed: 0, trialSeed, hparamsSeed },
    hparams: {
      lr: request.lr,
      weightDecay: 0,
      batchSize: 32,
      dropout: 0,
      dataAugmentation: true,
      classBalanced: false,
    },
    ...{ protocol: "domainbed", steps: 5001, evaluateEvery: 300, evaluateFirst: true, evaluateTraining: true },
    ...{ checkpointEvery: 0, holdout: 0.2, augmentValidation: true, batchNormBatches: 500, device: "cuda" },
    ...{ precision: "float32", threads: 2, fixed: {}, hash: id, request },
  };
}

/** Accuracies and losses of every part, and what training logs. */
function recordsOf(i: number, evaluations: number): string {
  const model = "current";
  const rows = Array.from({ length: evaluations }, (_, k) => 100 * k).flatMap((step): RunRecord[] => [
    { step, model, domain: null, split: null, metric: "loss", value: 1 / (1 + step) },
    ...pacsDomains.flatMap((domain, d) =>
      (["in", "out"] as const).flatMap((split, s): RunRecord[] => [
        {
          step,
          model,
          domain,
          split,
          metric: "accuracy",
          value: ((i * 7919 + step * 31 + d * 101 + s * 13) % 1000) / 1000,
        },
        { step, model, domain, split, metric: "loss", value: 0.5 },
      ]),
    ),
  ]);
  return rows.map(formatRecord).join("");
}
