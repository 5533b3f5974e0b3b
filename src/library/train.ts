/**
 * Training in one call, for programs: the same settings, loop, records and run folders as `nudge train`.
 *
 *     using run = await train({
 *       dataset: "shapes",
 *       testDomains: ["inverted"],
 *       algorithm: "erm",
 *       regularizers: [nuclearNorm({ weight: 0.01 })],
 *       steps: 300,
 *     });
 *     run.records; // every measured number
 *     run.assessment; // how good the model is on the pictures it was not trained on
 *     await run.model.predict("photo.jpg");
 *
 * This file turns the arguments of a program into a request (declared-settings/keys.ts), resolves it (settings/resolve.ts) and
 * runs the training loop (training/train.ts) in a run folder: the given one, or a temporary one.
 */

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { ASSESSMENT_FILE, type Assessment, readAssessment } from "../analysis/assessment.js";
import type { Judged } from "../analysis/judged.js";
import type { Follower } from "../averaging/index.js";
import type { BackboneDefinition } from "../backbones/index.js";
import type { Dataset } from "../data/dataset.js";
import { datasets } from "../data/datasets/index.js";
import { isOwnDataset } from "../data/own-dataset.js";
import type { GivenKeys } from "../declared-settings/keys.js";
import type { DefinitionKind } from "../definitions.js";
import { StoppedError, UsageError } from "../errors.js";
import { loadModel, type Model } from "../model/index.js";
import { TRAINING_PICTURES_FILE, trainingPicturesOf } from "../model/training-pictures.js";
import type { OptimizerDefinition, ScheduleDefinition } from "../optim/index.js";
import type { RunRecord } from "../records/record.js";
import { readRecords } from "../records/store.js";
import type { Regularizer } from "../regularizers/index.js";
import { writeRunReport } from "../report/run-report.js";
import { withOwnFolder } from "../settings/edition.js";
import { SettingsMemo } from "../settings/memo.js";
import { type Plan, resolve } from "../settings/resolve.js";
import { checkSearched, SEARCH_RUNS } from "../settings/search.js";
import { runName, type TrainSettings } from "../settings/settings.js";
import { assessRun } from "../training/assess-run.js";
import { HELD_BACK_FILE, heldBackOf } from "../training/held-back.js";
import type { Reporter, Status } from "../training/reporter.js";
import { factsAt, type RunFolder, readTrainSettings } from "../training/run-folder.js";
import { startRun } from "../training/start-run.js";
import { type EndedRun, train as trainInFolder } from "../training/train.js";
import { type Definition, registerAs } from "./register.js";
import { version } from "./version.js";

/** Settings of a run whose values can also be definitions or objects, and settings that only the command line needs. */
type Replaced =
  | "data"
  | "testDomains"
  | "algorithm"
  | "regularizers"
  | "averaging"
  | "backbone"
  | "optimizer"
  | "schedule"
  | "fixed";

/** What to train. All settings of `nudge train` (docs/reference/settings.md) have the same names and defaults here. */
export interface RunRequest extends Omit<GivenKeys, Replaced> {
  /** A dataset that `openDataset` opened; or a folder, a manifest or a dataset's name, as for `--data`. */
  readonly dataset: string | Dataset;
  /** The domains that are held out of training; an empty list trains on all of them. */
  readonly testDomains: readonly string[];
  /** An id, a method by its name in papers (`ERM-NU`), or what `defineAlgorithm` returned. The default is ERM. */
  readonly algorithm?: string | AlgorithmDefinition;
  /** Ids, definitions (`nuclearNorm`), or regularizers with settings (`nuclearNorm({ weight: 0.01 })`). */
  readonly regularizers?: readonly (string | (Definition & (() => Regularizer)) | Regularizer)[];
  /** Averages of the weights to keep: ids, or definitions such as `swad`. The model is then the first average. */
  readonly averaging?: readonly (string | (Definition & (() => Follower)))[];
  readonly backbone?: string | BackboneDefinition;
  readonly optimizer?: string | OptimizerDefinition;
  readonly schedule?: string | ScheduleDefinition;
  /** Hyperparameters and options by name: `{ lr: 1e-3, "swad.tolerance": 0.2, "data.size": 16 }`. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
}

export interface TrainOptions extends RunRequest {
  /**
   * The folder of the run, with everything that `nudge train` writes. An interrupted run in it is resumed, and a
   * finished one is read. By default nothing is kept on disk.
   */
  readonly folder?: string;
  /** The folder of several runs, instead of `folder`: this run gets a folder in it that is named by its settings. */
  readonly out?: string;
  /** Called after every update. */
  readonly onStep?: (status: Status) => void;
  /** Called after every evaluation with its records. */
  readonly onEvaluation?: (records: readonly RunRecord[]) => void;
  /** Receives the lines that `nudge train` prints. */
  readonly onLog?: (line: string) => void;
  /** Stops the run after the current update; `train` then rejects with the signal's reason. A run with a folder can be resumed. */
  readonly signal?: AbortSignal;
}

/** A finished run. Dispose of it to free its model, or declare it with `using`. */
export interface TrainedRun extends Disposable {
  /** Every setting with its value: the content of the run folder's `settings.json`. */
  readonly settings: TrainSettings;
  readonly records: readonly RunRecord[];
  /** The best model by validation on the training domains, or the first average. */
  readonly model: Model;
  /** The evaluation of the model on all samples of the held-out domains and on the validation parts of the others. */
  readonly assessment: Assessment;
  /** The folder of the run; null if none was requested. */
  readonly folder: string | null;
}

/** Trains a model; see the top of the file. */
export async function train(options: TrainOptions): Promise<TrainedRun> {
  options.signal?.throwIfAborted();
  const asked = await planRun(options);
  if (options.folder !== undefined && options.out !== undefined)
    throw new UsageError("train: expected either `folder`, for this run, or `out`, for several runs; got both");
  const { out } = options;
  const placeOf = (settings: TrainSettings): string => join(out!, runName(settings));
  const plan = out === undefined ? asked : withOwnFolder(asked, (settings) => factsAt(placeOf(settings))).plan;
  const path = out === undefined ? options.folder : placeOf(plan.settings);
  if (path !== undefined) return trainAt(path, path, plan, options);
  const temporary = mkdtempSync(join(tmpdir(), "nudge-run-"));
  try {
    return await trainAt(temporary, null, plan, options);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/**
 * Resolves a run without training it: its complete settings, with the dataset opened and split. Definitions are
 * registered.
 */
export async function planRun(request: RunRequest): Promise<Plan> {
  const memo = new SettingsMemo();
  const asked = toRequest(request, memo);
  checkSearched(asked, SEARCH_RUNS);
  return resolve(asked, memo);
}

/** Assesses the model of a run that is ending, and writes the report on pictures into its folder. */
export async function assessAndReport(run: EndedRun): Promise<void> {
  const { plan, folder } = run;
  const keep = (judged: readonly Judged[]): void => {
    if (isOwnDataset(plan.dataset.id) && !plan.settings.trainOnAll)
      folder.writeJson(HELD_BACK_FILE, heldBackOf(plan, judged));
  };
  folder.writeJson(ASSESSMENT_FILE, await assessRun(run, keep));
  if (plan.dataset.kind !== "pictures") return;
  if (isOwnDataset(plan.dataset.id) && (plan.settings.nearDuplicates !== undefined || plan.dataset.givenSplit))
    folder.writeJson(TRAINING_PICTURES_FILE, await trainingPicturesOf(plan.dataset, plan.split, plan.settings));
  await writeRunReport({ folder: folder.path, settings: plan.settings, dataset: plan.dataset });
}

async function trainAt(path: string, shown: string | null, asked: Plan, options: TrainOptions): Promise<TrainedRun> {
  const { signal } = options;
  const { plan, folder: owned, was } = await startRun(asked, path);
  using folder = owned;
  if (was !== "new") checkSame(folder, plan);
  if (was === "done" && !existsSync(folder.file(ASSESSMENT_FILE)))
    throw new UsageError(
      `train: the run in ${path} is finished, but another program created it without an assessment. Read its records with readRun, or choose another folder`,
    );
  if (was !== "done") {
    const outcome = await trainInFolder({
      ...{ plan, folder, version: version() },
      reporter: reporterOf(options),
      shouldStop: () => signal?.aborted ?? false,
      beforeDone: assessAndReport,
    });
    if (!outcome.done) throw signal?.reason ?? new StoppedError("the run was stopped");
  }
  const model = await loadModel(path, { device: plan.settings.device });
  return {
    settings: plan.settings,
    records: readRecords(folder.records).records,
    model,
    assessment: readAssessment(folder.file(ASSESSMENT_FILE)),
    folder: shown,
    [Symbol.dispose]: () => model.dispose(),
  };
}

function checkSame({ path }: RunFolder, { settings }: Plan): void {
  const before = readTrainSettings(path);
  if (before.hash !== settings.hash)
    throw new UsageError(
      `train: the run in ${path} has other settings (${before.hash}, and these are ${settings.hash}). Choose another folder, or delete that one`,
    );
}

function reporterOf({ onStep, onEvaluation, onLog }: TrainOptions): Reporter {
  return {
    status: (status) => onStep?.(status),
    line: (text) => onLog?.(text),
    records: (records) => onEvaluation?.(records),
  };
}

/** The request in the form of the command line. Objects are registered, and the memo knows the dataset. */
function toRequest(options: RunRequest, memo: SettingsMemo): Record<string, unknown> {
  const { dataset, testDomains, algorithm, regularizers = [], averaging = [], settings, ...rest } = options;
  const { backbone, optimizer, schedule, ...plain } = rest;
  const idOf = (kind: DefinitionKind, given: string | Definition | undefined): string | undefined =>
    typeof given === "object" || typeof given === "function" ? registerAs(kind, given) : given;
  const ofCall = ["folder", "out", "onStep", "onEvaluation", "onLog", "signal"];
  return {
    ...Object.fromEntries(Object.entries(plain).filter(([name]) => !ofCall.includes(name))),
    ...datasetRequest(dataset, memo),
    testDomains: [...testDomains],
    algorithm: idOf("algorithm", algorithm),
    regularizers: regularizers.map((each) => idOf("regularizer", isMade(each) ? each.definition : each)),
    averaging: averaging.map((each) => idOf("follower", each)),
    backbone: idOf("backbone", backbone),
    optimizer: idOf("optimizer", optimizer as string | Definition | undefined),
    schedule: idOf("schedule", schedule as string | Definition | undefined),
    ...Object.fromEntries(
      regularizers
        .filter(isMade)
        .flatMap(({ id, given }) => Object.entries(given).map(([name, value]) => [`${id}.${name}`, value])),
    ),
    ...settings,
  };
}

/** Whether it is a regularizer and not the definition of one. */
const isMade = (given: string | Definition | Regularizer): given is Regularizer =>
  typeof given === "object" && "term" in given;

/** The settings that name a dataset. Options that differ from their defaults count as given. */
function datasetRequest(dataset: string | Dataset, memo: SettingsMemo): Record<string, unknown> {
  if (typeof dataset === "string") return { data: dataset };
  const { id, root, options } = dataset;
  const definition = Object.hasOwn(datasets, id) ? datasets[id] : undefined;
  const data = isOwnDataset(id) && root !== null ? root : id;
  memo.keepDataset(data, dataset);
  const given = Object.entries(options).filter(([name, value]) => definition?.options[name]?.default !== value);
  return {
    data,
    ...(data === id && root !== null && { root }),
    ...Object.fromEntries(given.map(([name, value]) => [`data.${name}`, value])),
  };
}
