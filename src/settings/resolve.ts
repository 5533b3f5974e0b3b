/**
 * From what was asked for to a run that is settled in full: the dataset opened and split, the method put together, every
 * hyperparameter with its value. Precedence: the protocol and the plug-ins' defaults (or their random draw), then what was
 * given.
 */

import { availableParallelism } from "node:os";
import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { checkDomains } from "../algorithms/check-domains.js";
import { algorithms } from "../algorithms/index.js";
import type { FollowerDefinition } from "../averaging/index.js";
import { trainedBackbones } from "../backbones/backbone-of-weights.js";
import { findWeights } from "../backbones/find-weights.js";
import { backboneNamed } from "../backbones/index.js";
import { type Dataset, domainsNamed, type OptionValues } from "../data/dataset.js";
import { datasets, findDataset } from "../data/datasets/index.js";
import { type Split, splitDataset } from "../data/split.js";
import { pluginFilesOf } from "../definitions.js";
import { UsageError } from "../errors.js";
import type { SettingScalar } from "../records/run.js";
import type { Regularizer } from "../regularizers/index.js";
import { type GivenKeys, type KeyName, keys, makesRow, type Request, readKeys } from "./keys.js";
import { SettingsMemo } from "./memo.js";
import { probeProtocol, protocolFor } from "./protocols.js";
import { type Sibling, siblingHash, type TrainSettings } from "./settings.js";
import { alike } from "./values.js";
import { valuesOf } from "./values-of-run.js";

/** A run that is settled: its settings, and what they stand for. */
export interface Plan {
  readonly settings: TrainSettings;
  readonly dataset: Dataset;
  readonly split: Split;
  readonly algorithm: AlgorithmDefinition;
  readonly regularizers: readonly Regularizer[];
  /** Followers are made when the run starts: they hold tensors. */
  readonly averaging: readonly FollowerDefinition[];
}

/** A plan but for its split, which is large: what planning many runs needs. */
export interface SettledRun extends Omit<Plan, "split"> {
  /** The hash of a run like this one but for what siblings differ in. */
  readonly hashOf: (sibling: Sibling) => string;
}

/** Settles a run. */
export async function resolve(request: Request, memo = new SettingsMemo()): Promise<Plan> {
  const { hashOf: _, ...run } = await settle(request, memo);
  const { trialSeed, testDomains, holdout } = run.settings;
  const split = run.dataset.givenSplit ?? splitDataset(run.dataset.domains, { trialSeed, testDomains, holdout });
  return { ...run, split };
}

/** Settles a run up to its split, of which the settings have the hash. */
export async function settle(asked: Request, memo: SettingsMemo): Promise<SettledRun> {
  const given = readKeys(asked);
  const method = memo.method(given);
  const options = optionsIn(asked, given.data);
  const dataset = await datasetOf(given, options, memo);
  // None at all must be said with an empty list: an empty text is a variable that was not set.
  if (!given.testDomains?.length && !Array.isArray(asked.testDomains))
    throw new UsageError(
      `no test domain: say which of ${dataset.domains.map(({ name }) => name).join(", ")} to hold out, with --test-domain; or each in turn, with --leave-one-out`,
    );
  const testDomains = heldOut(given.testDomains ?? [], dataset);
  const seeds = { trialSeed: given.trialSeed ?? 0, hparamsSeed: given.hparamsSeed ?? 0 };
  const holdout = given.holdout ?? 0.2;
  const weights = weightsOf(dataset, given, memo);
  const pretrained = weights.file !== null;
  const probe = given.probe ?? false;
  const values = valuesOf(asked, method, memo.usual(method, dataset, { ...seeds, pretrained, probe }));
  checkTraining(method.algorithm, { dataset, testDomains, hparams: values.hparams });
  if (probe) checkProbe(dataset, method.algorithm, values.hparams);
  const averaging = method.averaging.map((definition) => {
    using follower = definition(values.of(definition), dataset.id);
    return { id: follower.id, settings: follower.settings };
  });
  const regularizers = method.regularizers.map((definition) => definition(values.of(definition)));
  const protocolName = given.protocol ?? "domainbed";
  const protocol = probe ? probeProtocol : protocolFor(dataset, protocolName);
  const plugins = pluginFilesOf([
    ["dataset", dataset.id],
    ["backbone", weights.backbone],
    ["algorithm", method.algorithm.id],
    ...regularizers.map(({ id }) => ["regularizer", id] as const),
  ]);
  const settled = {
    format: 1,
    data: given.data!,
    root: given.root ?? null,
    cache: given.cache ?? null,
    dataset: dataset.id,
    datasetOptions: dataset.options,
    domains: memo.domainNames(dataset),
    testDomains,
    splitHash: memo.splitHash(dataset, { trialSeed: seeds.trialSeed, testDomains, holdout }),
    ...(dataset.kind === "pictures" && !datasets[dataset.id]?.published && { pictures: memo.picturesHash(dataset) }),
    classes: dataset.classes,
    inputShape: dataset.inputShape,
    algorithm: method.algorithm.id,
    regularizers: regularizers.map(({ id, settings }) => ({ id, settings })),
    averaging,
    backbone: weights.backbone,
    pretrained,
    weights: weights.file,
    weightsHash: weights.file === null ? null : memo.fileHash(weights.file),
    ...(probe && { probe }),
    hparams: values.hparams,
    seed: given.seed ?? 0,
    trialSeed: seeds.trialSeed,
    hparamsSeed: seeds.hparamsSeed,
    protocol: protocolName,
    ...(plugins.length > 0 && { plugins }),
    steps: given.steps ?? protocol.steps,
    evaluateEvery: given.evaluateEvery ?? protocol.evaluateEvery,
    evaluateFirst: given.evaluateFirst ?? true,
    evaluateTraining: given.evaluateTraining ?? protocol.evaluateTraining,
    ...(given.measures === "all" && { measures: given.measures }),
    checkpointEvery: given.checkpointEvery ?? 0,
    holdout,
    augmentValidation: given.augmentValidation ?? protocol.augmentValidation,
    batchNormBatches: given.batchNormBatches ?? 500, // as SWAD's code has it
    device: given.device ?? "cpu",
    precision: given.precision ?? "float32",
    threads: given.threads ?? availableParallelism(),
  } as const;
  const hashOf = siblingHash(settled, memo.texts);
  const named = Object.assign(settled, { hash: hashOf(settled) });
  const request = requestFor(named, values.named, findDataset(named.data) ? dataset.options : options);
  const fixed = fixedIn(asked, given, { request, hparams: values.given });
  return {
    settings: Object.assign(named, { fixed, request: { ...request, fixed: Object.keys(fixed) } }),
    dataset,
    ...method,
    regularizers,
    hashOf,
  };
}

/** Settles runs like a settled one that hold out other domains: what many runs of a sweep differ in. */
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

/** The dataset of a run that is asked for. */
export function datasetFor(asked: Request, memo: SettingsMemo): Promise<Dataset> {
  const given = readKeys(asked);
  return datasetOf(given, optionsIn(asked, given.data), memo);
}

/** The test domains, checked, in the dataset's order, so that one set of them is one run. */
function heldOut(names: readonly string[], dataset: Dataset): string[] {
  const held = domainsNamed(dataset, names).map(({ name }) => name); // an unknown one is an error that names the nearest
  const testDomains = dataset.domains.map(({ name }) => name).filter((name) => held.includes(name));
  if (testDomains.length >= dataset.domains.length)
    throw new UsageError(`test domains ${testDomains.join(", ")}: none of dataset ${dataset.id} is left to train on`);
  return testDomains;
}

/** Checks the domains that are left to train on. */
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

function datasetOf({ data, root }: GivenKeys, options: OptionValues, memo: SettingsMemo): Promise<Dataset> {
  if (data === undefined)
    throw new UsageError("no dataset: give a folder, a manifest or a name with --data, such as --data shapes");
  return memo.dataset(data, { root, options });
}

/** The dataset's options in a request (`data.size=32`), without their prefix. */
function optionsIn(request: Request, data: string | undefined): OptionValues {
  const asked = Object.keys(request).filter((key) => key.startsWith("data."));
  if (asked.length === 0) return {};
  const named = data === undefined ? undefined : findDataset(data);
  // What kind of dataset a path holds is known when it has been opened; options of one name are of one type.
  const declared = (named ? [named] : Object.values(datasets)).map((definition) => definition.options);
  return Object.fromEntries(
    asked.flatMap((key): [string, OptionValues[string]][] => {
      const value = request[key];
      if (value === null || value === undefined) return [];
      const name = key.slice("data.".length);
      const option = declared.find((options) => Object.hasOwn(options, name))?.[name];
      // A name that there is not is the dataset's to refuse: it knows the nearest.
      return [[name, option ? alike(key, value, option.default) : (value as string)]];
    }),
  );
}

/** What a probe cannot do: its samples are pictures' features, computed once. */
function checkProbe(
  dataset: Dataset,
  algorithm: AlgorithmDefinition,
  hparams: Readonly<Record<string, unknown>>,
): void {
  if (dataset.kind !== "pictures")
    throw new UsageError(`probe: expected pictures in files, whose features can be kept; ${dataset.id} has none`);
  if (algorithm.backbone)
    throw new UsageError(
      `probe: ${algorithm.title} needs more of the backbone than its features, which are all that a probe has; take another algorithm, any but ${notProbed()}`,
    );
  if (hparams.dataAugmentation)
    throw new UsageError("probe: features are computed once, of pictures as they are; leave out dataAugmentation=true");
}

/** The algorithms that work on what goes into the backbone or on in it. */
const notProbed = (): string =>
  Object.values(algorithms)
    .flatMap(({ title, backbone }) => (backbone ? [title] : []))
    .join(", ");

/** The backbone of the reference for such samples, and the weights it starts from. */
function weightsOf(dataset: Dataset, given: GivenKeys, memo: SettingsMemo): { backbone: string; file: string | null } {
  const backbone = given.backbone ?? usualBackbone(dataset);
  const { weights } = backboneNamed(backbone);
  const pretrained = given.pretrained ?? (given.weights !== undefined || weights !== undefined);
  if (!pretrained && given.weights !== undefined)
    throw new UsageError(`weights ${given.weights}: pretrained=false says that the backbone starts from none`);
  if (!pretrained) return { backbone, file: null };
  const file = findWeights(backbone, given.weights);
  // A plug-in's backbone may start from another's weights, and says itself what it misses.
  const known = trainedBackbones.some((id) => id === backbone);
  const found = known ? memo.backboneOfWeights(file) : undefined;
  if (found !== undefined && found !== backbone)
    throw new UsageError(
      `the weights ${file} are of ${found}, and the backbone is ${backbone}: take --backbone ${found}, or name weights of ${backbone} with --weights FILE`,
    );
  return { backbone, file };
}

function usualBackbone({ id, inputShape }: Dataset): string {
  if (id === "shapes") return "small-cnn"; // made to be trained in seconds; the rest is the reference's choice
  if (inputShape.length === 1) return "mlp";
  if (inputShape[1] === 28) return "mnist-cnn";
  return inputShape[1] === 32 ? "wide-resnet-16-2" : "resnet50";
}

/**
 * What was set by hand and makes a run another row, with the values that it has. A value counts whatever the default or the
 * draw in its place would have been: otherwise a search in which it is fixed would lose the draws that happen to be like it.
 */
function fixedIn(
  asked: Request,
  given: GivenKeys,
  { request, hparams }: { request: TrainSettings["request"]; hparams: ReadonlyMap<string, string> },
): TrainSettings["fixed"] {
  const nameOf = (name: string): string | undefined => {
    if (name === "weights") return startsFromNone(request) ? "pretrained" : undefined;
    return Object.hasOwn(keys, name) || name.startsWith("data.") ? name : hparams.get(name);
  };
  const byHand = given.fixed && new Set(given.fixed);
  const names = new Set<string>();
  for (const name in asked) {
    const known = (asked[name] ?? null) === null ? undefined : nameOf(name);
    if (known !== undefined && (!byHand || byHand.has(name) || byHand.has(known))) names.add(known);
  }
  const fixed: Record<string, SettingScalar> = {};
  for (const name in request) if (names.has(name) && makesRow(name)) fixed[name] = request[name] as SettingScalar;
  return fixed;
}

/** Whether a backbone usually starts from no trained weights, so that a file of them is a setting of its own. */
const startsFromNone = ({ backbone }: TrainSettings["request"]): boolean =>
  backboneNamed(backbone as string).weights === undefined;

/** Keys that a request has by the ids of what they name. */
const NAMED: readonly KeyName[] = ["regularizers", "averaging"];
const PLAIN = (Object.keys(keys) as KeyName[]).filter((name) => !NAMED.includes(name) && name !== "fixed");

/** Every key with the value it has, so that no default matters when the run is made again. */
function requestFor(
  settings: Omit<TrainSettings, "request" | "fixed">,
  hparams: TrainSettings["hparams"],
  options: OptionValues,
): TrainSettings["request"] {
  const { regularizers, averaging } = settings;
  const request: Record<string, SettingScalar | readonly string[]> = {};
  for (const name of PLAIN) {
    const value = settings[name as "data"];
    if (value !== null && value !== undefined) request[name] = value;
  }
  request.regularizers = regularizers.map(({ id }) => id);
  request.averaging = averaging.map(({ id }) => id);
  for (const name in options) request[`data.${name}`] = options[name];
  Object.assign(request, hparams);
  for (const { id, settings: values } of [...regularizers, ...averaging])
    for (const name in values) request[`${id}.${name}`] = values[name];
  return request;
}
