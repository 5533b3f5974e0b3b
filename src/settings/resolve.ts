/**
 * From a request to a completely specified run: the dataset is opened and split, the method created, and every
 * hyperparameter has its value. Precedence: the protocol and the defaults of plug-ins (or their random draw), then the
 * given values.
 */

import { availableParallelism } from "node:os";
import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { checkDomains } from "../algorithms/check-domains.js";
import type { FollowerDefinition } from "../averaging/index.js";
import { type Dataset, domainsNamed, type PictureDataset } from "../data/dataset.js";
import { datasets, findDataset } from "../data/datasets/index.js";
import { evenlyChosen } from "../data/evenly-chosen.js";
import { splitOf } from "../data/own-split.js";
import type { Split } from "../data/split.js";
import { pluginFilesOf } from "../definitions.js";
import { DataError, UsageError } from "../errors.js";
import type { SettingScalar } from "../records/run.js";
import type { Regularizer } from "../regularizers/index.js";
import { checkExact, checkHeadFirst, checkProbe, checkRetrain, evaluationSizeOf, headStepsOf } from "./check-probe.js";
import { fixedIn } from "./fixed.js";
import { type FilledKeys, type GivenKeys, type KeyName, keys, type Request, readKeys, withDefaults } from "./keys.js";
import { loraSettings } from "./lora.js";
import { SettingsMemo } from "./memo.js";
import type { Method } from "./method.js";
import { optimizationSettings } from "./optimization.js";
import { partialTraining } from "./partial-training.js";
import { preprocessingSettings } from "./preprocessing.js";
import { exactProtocol, type Protocol, probeProtocol, protocolFor } from "./protocols.js";
import { rangesByName, withDraws, withoutDrawnOptions, withoutRanges } from "./search.js";
import { type Sibling, siblingHash, type TrainSettings } from "./settings.js";
import { type StartingWeights, startingWeights } from "./starting-weights.js";
import { declaredHparams, valuesOf } from "./values-of-run.js";

/** A resolved run: its settings, and the objects they stand for. */
export interface Plan {
  readonly settings: TrainSettings;
  readonly dataset: Dataset;
  readonly split: Split;
  readonly algorithm: AlgorithmDefinition;
  readonly regularizers: readonly Regularizer[];
  /** Followers are created when the run starts, because they hold tensors. */
  readonly averaging: readonly FollowerDefinition[];
}

/** A plan without its split, which is large: enough for planning many runs. */
export interface SettledRun extends Omit<Plan, "split"> {
  /** The hash that this run shares with its siblings, which differ only in held-out domains, split and seed. */
  readonly hashOf: (sibling: Sibling) => string;
}

/** Resolves a run. */
export async function resolve(request: Request, memo = new SettingsMemo()): Promise<Plan> {
  const { hashOf: _, ...run } = await settle(request, memo);
  const { trialSeed, testDomains, holdout } = run.settings;
  const split = splitOf(run.dataset, { trialSeed, testDomains, holdout });
  const { trainOnAll } = run.settings;
  const dataset = trainOnAll ? { ...run.dataset, notes: [...run.dataset.notes, TRAINED_ON_ALL] } : run.dataset;
  const parts = trainOnAll ? withValidation(split, run.settings) : split;
  return { ...run, dataset, split: fewerTested(parts, run.settings) };
}

const TRAINED_ON_ALL =
  "the validation pictures were used for training too (trainOnAll), so the validation accuracy says nothing about new pictures";

/** The split with the validation pictures of training domains in both parts. */
export function withValidation(split: Split, { testDomains }: Pick<TrainSettings, "testDomains">): Split {
  return new Map(
    [...split].map(([name, parts]) => [
      name,
      testDomains.includes(name) ? parts : { ...parts, in: [...parts.in, ...parts.out] },
    ]),
  );
}

/**
 * The split with at most this many pictures of each held-out domain, evenly from both parts. It is the same at every
 * call.
 */
function fewerTested(split: Split, { testDomains, testPictures }: TrainSettings): Split {
  if (testPictures === undefined) return split;
  return new Map(
    [...split].map(([name, parts]) => {
      if (!testDomains.includes(name)) return [name, parts];
      const places = [...parts.in, ...parts.out].sort((a, b) => a - b);
      return [name, { in: evenlyChosen(places, testPictures), out: [], uda: [] }];
    }),
  );
}

/** Resolves a run except for its split, of which the settings contain the hash. */
export async function settle(request: Request, memo: SettingsMemo): Promise<SettledRun> {
  const drawn = withDraws(request, () => declaredHparams(memo.method(readKeys(withoutRanges(request))).algorithm));
  const { asked, ranges } = drawn;
  const given = withDefaults(readKeys(asked));
  const method = memo.method(given);
  const options = optionsIn(asked);
  const opened = await memo.withNearDuplicates(await datasetOf(given, options, memo), given.nearDuplicates);
  if (opened.classes.length < 2)
    throw new DataError(
      `dataset ${given.data}: there is only one class, "${opened.classes[0]}", so there is nothing to classify; put the pictures of each class in a folder of their own`,
    );
  const testDomains = testDomainsOf(asked, given, opened);
  const weights = startingWeights(opened, given, memo);
  const preprocessing = preprocessingSettings(given, weights, { dataset: opened, isOwn: isOwn(opened) });
  const dataset = memo.resized(opened, preprocessing.size);
  const { trialSeed, hparamsSeed, probe } = given;
  const draw = { trialSeed, hparamsSeed, pretrained: weights.file !== null, probe: probe !== false };
  const values = valuesOf(asked, method, memo.usual(method, dataset, draw));
  checkTraining(method.algorithm, { dataset, testDomains, hparams: values.hparams });
  if (probe) checkProbe(dataset, method.algorithm, values.hparams);
  if (probe === "exact") checkExact(method);
  if (given.headFirst === true) checkHeadFirst(dataset, values.hparams);
  if (given.retrain) checkRetrain(given, method);
  const regularizers = method.regularizers.map((definition) => definition(values.of(definition)));
  const averaging = method.averaging.map((definition) => {
    using follower = definition(values.of(definition), dataset.id);
    return { id: follower.id, settings: follower.settings };
  });
  const protocol = probe === "exact" ? exactProtocol : probe ? probeProtocol : protocolFor(dataset, given.protocol);
  const { steps = protocol.steps } = given;
  const settled = {
    format: 1,
    ...dataSettings(given, dataset, testDomains, memo),
    algorithm: method.algorithm.id,
    regularizers: regularizers.map(({ id, settings }) => ({ id, settings })),
    averaging,
    ...networkSettings(weights, given, memo),
    ...preprocessing,
    ...partialTraining(given, weights.backbone),
    ...loraSettings(given, weights),
    ...probeSettings(given, dataset, steps),
    hparams: values.hparams,
    ...pluginSettings(dataset, weights.backbone, method),
    ...loopSettings(given, protocol),
    ...optimizationSettings(given, method, values, steps),
  } as const;
  const hashOf = siblingHash(settled, memo.texts);
  const named = Object.assign(settled, { hash: hashOf(settled) });
  const again = Object.assign(
    requestFor(named, values.named, findDataset(named.data) ? undefined : Object.keys(options)),
    rangesByName(ranges, values.given),
  );
  const fixed = fixedIn(withoutDrawnOptions(drawn), given, { request: again, hparams: values.given });
  const settings = Object.assign(named, { fixed, request: Object.assign(again, { fixed: Object.keys(fixed) }) });
  return { settings, dataset, ...method, regularizers, hashOf };
}

/** Whether pictures are somebody's own, also a plug-in's. */
const isOwn = (dataset: Dataset): dataset is PictureDataset =>
  dataset.kind === "pictures" && !datasets[dataset.id]?.published;

function dataSettings(given: FilledKeys, dataset: Dataset, testDomains: readonly string[], memo: SettingsMemo) {
  const { data, root = null, cache = null, trialSeed, holdout } = given;
  return {
    data: data!,
    root,
    cache,
    dataset: dataset.id,
    datasetOptions: dataset.options,
    domains: memo.domainNames(dataset),
    testDomains,
    splitHash: memo.splitHash(dataset, { trialSeed, testDomains, holdout }),
    ...(isOwn(dataset) && { pictures: memo.picturesHash(dataset) }),
    ...(dataset.nearDuplicates && { nearDuplicates: "together" as const }),
    classes: dataset.classes,
    inputShape: dataset.inputShape,
  };
}

function networkSettings(
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
function probeSettings(
  { probe, probeC = "auto", headFirst, refit, evaluationSize, testPictures, t3a, trainOnAll, retrain }: FilledKeys,
  dataset: Dataset,
  steps: number,
) {
  const exact = probe === "exact";
  const startsFromProbe = headFirst === true && !probe;
  const size = evaluationSizeOf(evaluationSize, dataset);
  return {
    ...(probe && { probe: exact ? ("exact" as const) : (true as const) }),
    ...((exact || startsFromProbe) && { probeC }),
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

/** The plug-ins that parts of a run came from, if any. */
function pluginSettings(
  dataset: Dataset,
  backbone: string,
  { algorithm, regularizers, averaging, optimizer, schedule }: Method,
) {
  const plugins = pluginFilesOf([
    ["dataset", dataset.id],
    ["backbone", backbone],
    ["algorithm", algorithm.id],
    ...regularizers.map(({ id }) => ["regularizer", id] as const),
    ...averaging.map(({ id }) => ["follower", id] as const),
    ...(optimizer ? [["optimizer", optimizer.id] as const] : []),
    ...(schedule ? [["schedule", schedule.id] as const] : []),
  ]);
  return plugins.length > 0 && { plugins };
}

let counted: number | undefined;

/** Cached: asking the system takes longer than resolving a run. */
const cores = (): number => {
  counted ??= availableParallelism();
  return counted;
};

/** The length of a run, what it evaluates and where it is executed: the given values, else those of the protocol. */
function loopSettings(given: FilledKeys, protocol: Protocol) {
  const { steps = protocol.steps, evaluateEvery = protocol.evaluateEvery } = given;
  const { evaluateTraining = protocol.evaluateTraining, augmentValidation = protocol.augmentValidation } = given;
  const { seed, trialSeed, hparamsSeed, evaluateFirst, measures, checkpointEvery, holdout, batchNormBatches } = given;
  const { device, precision, threads = cores() } = given;
  return {
    seed,
    trialSeed,
    hparamsSeed,
    protocol: given.protocol,
    steps,
    evaluateEvery,
    evaluateFirst,
    evaluateTraining,
    ...(measures === "all" && { measures }),
    checkpointEvery,
    holdout,
    augmentValidation,
    batchNormBatches,
    device,
    precision,
    threads,
  };
}

/** Resolves runs that differ from a resolved one in the held-out domains, as many runs of a sweep do. */
export function siblingsOf(
  { settings, dataset, algorithm, hashOf }: SettledRun,
  memo: SettingsMemo,
): (names: readonly string[], seed?: number) => Sibling & { readonly hash: string } {
  const { trialSeed, holdout, hparams } = settings;
  return (names, seed = settings.seed) => {
    const testDomains = heldOut(names, dataset);
    checkTraining(algorithm, { dataset, testDomains, hparams });
    const splitHash = memo.splitHash(dataset, { trialSeed, testDomains, holdout });
    const sibling = { testDomains, splitHash, seed };
    return { ...sibling, hash: hashOf(sibling) };
  };
}

/** The dataset of a requested run. */
export function datasetFor(asked: Request, memo: SettingsMemo): Promise<Dataset> {
  const given = readKeys(withoutRanges(asked));
  return datasetOf(given, optionsIn(asked), memo);
}

/** The domains that a run should hold out. */
function testDomainsOf(asked: Request, { testDomains = [] }: GivenKeys, dataset: Dataset): string[] {
  // No domains at all requires an empty list: an empty text usually comes from an unset variable.
  if (testDomains.length === 0 && !Array.isArray(asked.testDomains))
    throw new UsageError(
      `no test domain: choose one of ${dataset.domains.map(({ name }) => name).join(", ")} with --test-domain, or hold out each in turn with --leave-one-out`,
    );
  return heldOut(testDomains, dataset);
}

/** The test domains, checked, in the order of the dataset, so that the same set is always the same run. */
function heldOut(names: readonly string[], dataset: Dataset): string[] {
  const held = domainsNamed(dataset, names).map(({ name }) => name); // an unknown name is an error that suggests the closest one
  const testDomains = dataset.domains.map(({ name }) => name).filter((name) => held.includes(name));
  if (testDomains.length >= dataset.domains.length)
    throw new UsageError(
      `test domains ${testDomains.join(", ")}: no domain of dataset ${dataset.id} is left for training`,
    );
  return testDomains;
}

/** Checks the training domains. */
function checkTraining(
  algorithm: AlgorithmDefinition,
  {
    dataset,
    testDomains,
    hparams,
  }: { dataset: Dataset; testDomains: readonly string[]; hparams: TrainSettings["hparams"] },
): void {
  checkDomains(algorithm, { domains: dataset.domains.length - testDomains.length, dataset, hparams });
}

function datasetOf({ data, root }: GivenKeys, options: Request, memo: SettingsMemo): Promise<Dataset> {
  if (data === undefined)
    throw new UsageError(
      "no dataset: use --data with a folder, a manifest or the name of a dataset, such as --data shapes",
    );
  return memo.dataset(data, { root, options });
}

/** The options of the dataset in a request (`data.size=32`), without their prefix. The dataset parses them. */
function optionsIn(request: Request): Request {
  const asked = Object.entries(request).filter(
    ([key, value]) => key.startsWith("data.") && value !== null && value !== undefined,
  );
  return Object.fromEntries(asked.map(([key, value]) => [key.slice("data.".length), value]));
}

/** Keys of a request whose values are ids. */
const NAMED: readonly KeyName[] = ["regularizers", "averaging", "optimizer", "schedule"];
const PLAIN = (Object.keys(keys) as KeyName[]).filter((name) => !NAMED.includes(name) && name !== "fixed");

/** Every key with its value, so that defaults do not matter when the run is repeated; with these options of the dataset. */
function requestFor(
  settings: Omit<TrainSettings, "request" | "fixed">,
  hparams: TrainSettings["hparams"],
  options?: readonly string[],
): TrainSettings["request"] {
  const { regularizers, averaging, datasetOptions, optimizer, schedule } = settings;
  const request: Record<string, SettingScalar | readonly string[]> = {};
  for (const name of PLAIN) {
    const value = settings[name as "data"];
    if (value !== null && value !== undefined) request[name] = value;
  }
  request.regularizers = regularizers.map(({ id }) => id);
  request.averaging = averaging.map(({ id }) => id);
  for (const name of options ?? Object.keys(datasetOptions)) request[`data.${name}`] = datasetOptions[name];
  Object.assign(request, hparams);
  if (optimizer) request.optimizer = optimizer.id;
  if (schedule) request.schedule = schedule.id;
  const plugins = [...regularizers, ...averaging, ...(optimizer ? [optimizer] : []), ...(schedule ? [schedule] : [])];
  for (const { id, settings: values } of plugins) for (const name in values) request[`${id}.${name}`] = values[name];
  return request;
}
