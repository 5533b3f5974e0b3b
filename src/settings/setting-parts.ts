/** Parts of the settings of a run that do not depend on the draw of its hyperparameters. */

import type { Dataset, PictureDataset } from "../data/dataset.js";
import { datasets } from "../data/datasets/index.js";
import { splitHash } from "../data/split.js";
import type { FilledKeys } from "../declared-settings/keys.js";
import { type PluginFile, pluginFilesOf } from "../definitions.js";
import { defaultThreads } from "../engine/default-threads.js";
import type { RunFacts } from "../records/facts.js";
import { evaluationSizeOf, headStepsOf } from "./check-probe.js";
import type { SettingsMemo } from "./memo.js";
import type { Method } from "./method.js";
import type { Protocol } from "./protocols.js";
import type { StartingWeights } from "./starting-weights.js";

/** Whether pictures are somebody's own, also a plug-in's. */
export const isOwn = (dataset: Dataset): dataset is PictureDataset =>
  dataset.kind === "pictures" && !datasets[dataset.id]?.published;

/** The dataset of a run and its split. */
export function dataSettings(given: FilledKeys, dataset: Dataset, testDomains: readonly string[], memo: SettingsMemo) {
  const { data, root = null, cache = null, trialSeed, holdout } = given;
  return {
    data: data!,
    root,
    cache,
    dataset: dataset.id,
    datasetOptions: dataset.options,
    domains: memo.domainNames(dataset),
    ...(dataset.allDomains && { allDomains: dataset.allDomains }),
    testDomains,
    splitHash: memo.splitHash(dataset, { trialSeed, testDomains, holdout }),
    ...(isOwn(dataset) && { pictures: memo.samplesHash(dataset) }),
    ...(dataset.nearDuplicates && { nearDuplicates: "together" as const }),
    classes: dataset.classes,
    inputShape: dataset.inputShape,
  };
}

/** The backbone of a run and its initial weights. */
export function networkSettings(
  { backbone, file, normalization, variant }: StartingWeights,
  { activation }: FilledKeys,
  memo: SettingsMemo,
) {
  return {
    backbone,
    pretrained: file !== null,
    weights: file,
    weightsHash: file === null ? null : memo.fileHash(file),
    ...(normalization !== "imagenet" && { normalization }),
    ...(activation && { activation }),
    ...(variant && { variant }),
  };
}

/** Settings that are absent if they do not apply, so that runs from before they existed keep their names. */
export function probeSettings(given: FilledKeys, dataset: Dataset, steps: number) {
  const { probe, probeC = "auto", neighbours, headFirst, refit } = given;
  const { evaluationSize, testPictures, t3a, trainOnAll, retrain } = given;
  const exact = probe === "exact";
  const startsFromProbe = headFirst === true && !probe;
  const size = evaluationSizeOf(evaluationSize, dataset);
  return {
    ...(probe && { probe: exact ? ("exact" as const) : (true as const) }),
    ...((exact || startsFromProbe) && { probeC }),
    ...(exact && neighbours && { neighbours: true as const }),
    ...(startsFromProbe && { headFirst: true as const }),
    ...(typeof headFirst === "number" && { headFirst: headStepsOf(headFirst, { probe, steps }) }),
    ...(exact && refit && { refit: true as const }),
    ...(size !== undefined && { evaluationSize: size }),
    ...(testPictures !== undefined && { testPictures }),
    ...(t3a !== undefined && { t3a }),
    ...(trainOnAll && { trainOnAll: true as const }),
    ...(retrain && { retrain: true as const }),
  };
}

/** The files of the plug-ins that parts of a run came from, if any. */
export function pluginFiles(
  dataset: Dataset,
  backbone: string,
  { algorithm, regularizers, averaging, optimizer, schedule }: Method,
): readonly PluginFile[] {
  return pluginFilesOf([
    ["dataset", dataset.id],
    ["backbone", backbone],
    ["algorithm", algorithm.id],
    ...regularizers.map(({ id }) => ["regularizer", id] as const),
    ...averaging.map(({ id }) => ["follower", id] as const),
    ...(optimizer ? [["optimizer", optimizer.id] as const] : []),
    ...(schedule ? [["schedule", schedule.id] as const] : []),
  ]);
}

/** The plug-ins of a run as its id has them. */
export const pluginSettings = (plugins: readonly PluginFile[]) =>
  plugins.length > 0 && {
    plugins: plugins.map(({ file, sha256, titles }) => ({ file, sha256, ...(titles && { titles }) })),
  };

/** What the id of a run does not have: its samples, and all code of its plug-ins. */
export function factsOf(dataset: Dataset, plugins: readonly PluginFile[], memo: SettingsMemo): RunFacts {
  const count = dataset.domains.reduce((sum, domain) => sum + domain.count, 0);
  const code = plugins.flatMap(({ file, sha256, imports = [] }) => [{ file, sha256 }, ...imports]);
  const files = new Map(code.map((each) => [`${each.file} ${each.sha256}`, each]));
  const split = dataset.givenSplit && { split: splitHash(dataset.givenSplit) };
  return { samples: { count, hash: memo.samplesHash(dataset) }, ...split, code: [...files.values()] };
}

/** The length of a run, what it evaluates and where it is executed: the given values, else those of the protocol. */
export function loopSettings(given: FilledKeys, protocol: Protocol) {
  const { steps = protocol.steps, evaluateEvery = protocol.evaluateEvery } = given;
  const { evaluateTraining = protocol.evaluateTraining, augmentValidation = protocol.augmentValidation } = given;
  const { seed, trialSeed, hparamsSeed, evaluateFirst, measures, checkpointEvery, holdout, batchNormBatches } = given;
  const { device, precision, threads = defaultThreads() } = given;
  return {
    seed,
    trialSeed,
    hparamsSeed,
    protocol: given.protocol,
    ...(given.sharedSearch && { sharedSearch: true as const }),
    steps,
    evaluateEvery,
    evaluateFirst,
    evaluateTraining,
    ...(measures === "all" && { measures }),
    checkpointEvery,
    ...(given.keepCheckpoint && { keepCheckpoint: true as const }),
    holdout,
    augmentValidation,
    batchNormBatches,
    device,
    precision,
    threads,
  };
}
