/**
 * From what was asked for to a run that is settled in full: the dataset opened and split, the method put together, every
 * hyperparameter with its value. Precedence: the dataset's protocol and the plug-ins' defaults (or their random draw), then
 * what was given. A key may name a hyperparameter by itself (`alpha=0.1`) or with its owner (`mixup.alpha=0.1`).
 */

import { createHash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import { availableParallelism } from "node:os";
import { type AlgorithmDefinition, hparamsOn } from "../algorithms/algorithm.js";
import { checkDomains } from "../algorithms/check-domains.js";
import { algorithmNamed, algorithms } from "../algorithms/index.js";
import { type FollowerDefinition, followerNamed, followers } from "../averaging/index.js";
import { findWeights } from "../backbones/find-weights.js";
import { backboneNamed } from "../backbones/index.js";
import { unknownName } from "../closest-name.js";
import { type Dataset, domainNamed, type OptionValues } from "../data/dataset.js";
import { datasets, findDataset } from "../data/datasets/index.js";
import { openDataset } from "../data/open-dataset.js";
import { type Split, splitDataset, splitHash } from "../data/split.js";
import { UsageError } from "../errors.js";
import { drawHparams } from "../hparam-draws.js";
import type { Hparam, HparamValue } from "../hparams.js";
import type { PluginSettings, SettingScalar } from "../records/run.js";
import { type AnyRegularizerDefinition, type Regularizer, regularizerNamed } from "../regularizers/index.js";
import { parseMethodName } from "../regularizers/shorthand.js";
import { datasetSize, sharedHparams } from "../shared-hparams.js";
import { type GivenKeys, type KeyName, keys, type Request, readKeys } from "./keys.js";
import { settingsHash, type TrainSettings } from "./settings.js";
import { alike } from "./values.js";

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

/** Settles a run. */
export async function resolve(request: Request): Promise<Plan> {
  const given = readKeys(request);
  const method = methodOf(given);
  const options = optionsIn(request, given.data);
  const dataset = await datasetOf(given, options);
  const testDomains = inOrder(given.testDomains ?? [], dataset);
  if (testDomains.length === 0)
    throw new UsageError(
      `no test domain: say which of ${dataset.domains.map(({ name }) => name).join(", ")} to hold out, with --test-domain`,
    );
  if (testDomains.length >= dataset.domains.length)
    throw new UsageError(`test domains ${testDomains.join(", ")}: none of dataset ${dataset.id} is left to train on`);
  checkDomains(method.algorithm, { domains: dataset.domains.length - testDomains.length, dataset });
  const seeds = { trialSeed: given.trialSeed ?? 0, hparamsSeed: given.hparamsSeed ?? 0 };
  const holdout = given.holdout ?? 0.2;
  const split = splitDataset(dataset.domains, { trialSeed: seeds.trialSeed, testDomains, holdout });
  const parts = dataset.givenSplit ?? split;
  const weights = weightsOf(dataset, given);
  const values = valuesOf(request, method, dataset, { ...seeds, pretrained: weights.file !== null });
  const averaging = method.averaging.map((definition) => {
    using follower = definition(values.of(definition), dataset.id);
    return { id: follower.id, settings: follower.settings };
  });
  const regularizers = method.regularizers.map((definition) => definition(values.of(definition)));
  const protocol = protocolOf(dataset);
  const settled = {
    format: 1,
    data: given.data!,
    root: given.root ?? null,
    cache: given.cache ?? null,
    dataset: dataset.id,
    datasetOptions: dataset.options,
    domains: dataset.domains.map(({ name }) => name),
    testDomains,
    splitHash: splitHash(parts),
    classes: dataset.classes,
    inputShape: dataset.inputShape,
    algorithm: method.algorithm.id,
    regularizers: regularizers.map(({ id, settings }) => ({ id, settings })),
    averaging,
    backbone: weights.backbone,
    pretrained: weights.file !== null,
    weights: weights.file,
    weightsHash: weights.file === null ? null : fileHash(weights.file),
    hparams: values.hparams,
    seed: given.seed ?? 0,
    ...seeds,
    steps: given.steps ?? protocol.steps,
    evaluateEvery: given.evaluateEvery ?? protocol.evaluateEvery,
    evaluateFirst: given.evaluateFirst ?? true,
    evaluateTraining: given.evaluateTraining ?? true,
    checkpointEvery: given.checkpointEvery ?? 0,
    holdout,
    augmentValidation: given.augmentValidation ?? true,
    batchNormBatches: given.batchNormBatches ?? 500, // as SWAD's code has it
    device: given.device ?? "cpu",
    precision: given.precision ?? "float32",
    threads: given.threads ?? availableParallelism(),
  } as const;
  const variant = {
    ...differing("", usualKeys(dataset), settled),
    ...differing("data.", pick(optionDefaults(dataset), Object.keys(options)), options),
    ...differing("", values.usual(""), values.hparams),
    ...Object.assign({}, ...[...settled.regularizers, ...averaging].map(pluginVariant)),
  };
  function pluginVariant({ id, settings }: PluginSettings): Record<string, SettingScalar> {
    return differing(`${id}.`, values.usual(id), settings);
  }
  const settings = { ...settled, given: variant, hash: settingsHash(settled), request: {} };
  return {
    settings: { ...settings, request: requestFor(settings, findDataset(settings.data) ? dataset.options : options) },
    dataset,
    split: parts,
    ...method,
    regularizers,
  };
}

/** The test domains in the dataset's order, so that one set of them is one run. */
function inOrder(testDomains: readonly string[], dataset: Dataset): string[] {
  for (const name of testDomains) domainNamed(dataset, name); // an unknown one is an error that names the nearest
  return dataset.domains.map(({ name }) => name).filter((name) => testDomains.includes(name));
}

interface Method {
  readonly algorithm: AlgorithmDefinition;
  readonly regularizers: readonly AnyRegularizerDefinition[];
  readonly averaging: readonly FollowerDefinition[];
}

function methodOf(given: GivenKeys): Method {
  const named = parseMethodName(given.algorithm ?? "erm", {
    algorithms: Object.values(algorithms),
    averagings: Object.values(followers),
  });
  const unique = (names: readonly string[]) => [...new Set(names)];
  const penalties = unique([
    ...named.regularizers,
    ...(given.regularizers ?? []).map((name) => regularizerNamed(name).id),
  ]);
  const averages = unique([...(named.averaging ? [named.averaging] : []), ...(given.averaging ?? [])]);
  return {
    algorithm: algorithmNamed(named.algorithm),
    regularizers: penalties.map(regularizerNamed),
    averaging: averages.map(followerNamed),
  };
}

function datasetOf({ data, root }: GivenKeys, options: OptionValues): Promise<Dataset> {
  if (data === undefined)
    throw new UsageError("no dataset: give a folder, a manifest or a name with --data, such as --data shapes");
  return openDataset(data, { root, options });
}

/** The dataset's options in a request (`data.size=32`), without their prefix. */
function optionsIn(request: Request, data: string | undefined): OptionValues {
  const named = data === undefined ? undefined : findDataset(data);
  // What kind of dataset a path holds is known when it has been opened; options of one name are of one type.
  const declared = (named ? [named] : Object.values(datasets)).map((definition) => definition.options);
  return Object.fromEntries(
    Object.entries(request).flatMap(([key, value]): [string, OptionValues[string]][] => {
      if (!key.startsWith("data.") || value === null || value === undefined) return [];
      const name = key.slice("data.".length);
      const option = declared.find((options) => Object.hasOwn(options, name))?.[name];
      // A name that there is not is the dataset's to refuse: it knows the nearest.
      return [[name, option ? alike(key, value, option.default) : (value as string)]];
    }),
  );
}

/** The backbone of the reference for such samples, and the weights it starts from. */
function weightsOf(dataset: Dataset, given: GivenKeys): { backbone: string; file: string | null } {
  const backbone = given.backbone ?? usualBackbone(dataset);
  const { weights } = backboneNamed(backbone);
  const pretrained = given.pretrained ?? (given.weights !== undefined || weights !== undefined);
  if (!pretrained && given.weights !== undefined)
    throw new UsageError(`weights ${given.weights}: pretrained=false says that the backbone starts from none`);
  return { backbone, file: pretrained ? findWeights(backbone, given.weights) : null };
}

function usualBackbone({ id, inputShape }: Dataset): string {
  if (id === "shapes") return "small-cnn"; // made to be trained in seconds; the rest is the reference's choice
  if (inputShape.length === 1) return "mlp";
  if (inputShape[1] === 28) return "mnist-cnn";
  return inputShape[1] === 32 ? "wide-resnet-16-2" : "resnet50";
}

interface Values {
  /** Shared hyperparameters and the algorithm's. */
  readonly hparams: Record<string, HparamValue>;
  /** What an owner's values would be if none were given; the owner "" has the hyperparameters. */
  usual(id: string): Readonly<Record<string, SettingScalar>>;
  /** The values of a regularizer or follower. */
  of(owner: { readonly id: string }): Record<string, unknown>;
}

/** Every hyperparameter and plug-in setting: drawn or by default, then as given. */
function valuesOf(
  request: Request,
  { algorithm, regularizers, averaging }: Method,
  dataset: Dataset,
  { pretrained, ...seeds }: { trialSeed: number; hparamsSeed: number; pretrained: boolean },
): Values {
  const size = datasetSize(dataset.id, dataset.inputShape);
  const overrides = [algorithm.overrides, ...regularizers.map((each) => each.overrides)];
  const shared = sharedHparams({ dataset: dataset.id, size, overrides });
  const drawn: Record<string, HparamValue> = drawHparams({ ...shared, ...hparamsOn(size, algorithm) }, seeds);
  // Statistics that were never learned are not worth keeping.
  if (!pretrained) drawn.freezeBatchNorm = false;
  const owners = [
    { id: "", values: drawn, typed: true },
    ...regularizers.map(({ id, hparams, settings }) => ({
      id,
      values: { ...defaultsOf(settings), ...drawHparams(hparams as Record<string, Hparam>, seeds) },
      typed: false,
    })),
    ...averaging.map(({ id, settings, forDataset }) => ({
      id,
      values: { ...defaultsOf(settings), ...forDataset?.[dataset.id] } as Record<string, HparamValue>,
      typed: false,
    })),
  ];
  const usual = new Map(owners.map(({ id, values }) => [id, { ...values }]));
  for (const [name, value] of Object.entries(request)) {
    if (Object.hasOwn(keys, name) || name.startsWith("data.") || value === null || value === undefined) continue;
    const { owner, own } = ownerOf(name, owners, algorithm);
    // Regularizers and followers read their own values, and know more than their kind.
    owner.values[own] = owner.typed ? alike(name, value, owner.values[own]) : (value as HparamValue);
  }
  checkShared(drawn);
  return {
    hparams: drawn,
    usual: (id) => usual.get(id)!,
    of: ({ id }) => owners.find((owner) => owner.id === id)!.values,
  };
}

const defaultsOf = (
  settings: Readonly<Record<string, { readonly default: HparamValue }>>,
): Record<string, HparamValue> =>
  Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, setting.default]));

interface Owner {
  readonly id: string;
  readonly values: Record<string, HparamValue>;
}

/** Whose value a key is. */
function ownerOf<O extends Owner>(
  name: string,
  owners: readonly O[],
  algorithm: AlgorithmDefinition,
): { owner: O; own: string } {
  const dot = name.indexOf(".");
  const [prefix, own] = dot < 0 ? [undefined, name] : [name.slice(0, dot), name.slice(dot + 1)];
  const asked = owners.filter(
    ({ id, values }) => (prefix === undefined || prefix === (id || algorithm.id)) && Object.hasOwn(values, own),
  );
  if (asked.length > 1)
    throw new UsageError(`${name}: ${asked.map(({ id }) => `${id || algorithm.id}.${own}`).join(" or ")}? Say which`);
  if (asked.length === 1) return { owner: asked[0], own };
  const known = [
    ...Object.keys(keys),
    ...owners.flatMap(({ id, values }) => Object.keys(values).map((each) => (id === "" ? each : `${id}.${each}`))),
  ];
  throw new UsageError(unknownName("setting", name, known));
}

function checkShared({ lr, weightDecay, batchSize, dropout }: Readonly<Record<string, HparamValue>>): void {
  const check = (name: string, value: HparamValue, fits: boolean, expected: string) => {
    if (!fits) throw new UsageError(`${name}: expected ${expected}, got ${value}`);
  };
  check("lr", lr, (lr as number) >= 0, "a number from 0");
  check("weightDecay", weightDecay, (weightDecay as number) >= 0, "a number from 0");
  check("batchSize", batchSize, Number.isSafeInteger(batchSize) && (batchSize as number) > 0, "a whole number from 1");
  check("dropout", dropout, (dropout as number) >= 0 && (dropout as number) < 1, "a number from 0 to below 1");
}

/** The keys that make a run another row of a table when they are not as the protocol has them. */
function usualKeys(dataset: Dataset): Readonly<Record<string, SettingScalar>> {
  const backbone = usualBackbone(dataset);
  const pretrained = backboneNamed(backbone).weights !== undefined;
  const protocol = protocolOf(dataset);
  return {
    ...protocol,
    evaluateFirst: true,
    backbone,
    pretrained,
    holdout: 0.2,
    augmentValidation: true,
    batchNormBatches: 500,
    precision: "float32",
  };
}

const protocolOf = ({ id }: Dataset): { steps: number; evaluateEvery: number } =>
  datasets[id]?.protocol ?? { steps: 5001, evaluateEvery: 300 };

const optionDefaults = ({ id }: Dataset): Record<string, HparamValue> => defaultsOf(datasets[id]?.options ?? {});

const pick = <T>(values: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> =>
  Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));

/** The values that are not the usual ones. */
function differing(
  prefix: string,
  usual: Readonly<Record<string, SettingScalar>>,
  actual: object,
): Record<string, SettingScalar> {
  const values = actual as Readonly<Record<string, SettingScalar>>;
  const names = Object.keys(usual).filter((name) => values[name] !== usual[name]);
  return Object.fromEntries(names.map((name) => [`${prefix}${name}`, values[name]]));
}

/** Every key with the value it has, so that no default matters when the run is made again. */
function requestFor(settings: TrainSettings, options: OptionValues): TrainSettings["request"] {
  const plugins = [...settings.regularizers, ...settings.averaging];
  const own = Object.fromEntries(
    plugins.flatMap(({ id, settings: values }) =>
      Object.entries(values).map(([name, value]) => [`${id}.${name}`, value]),
    ),
  );
  const ofData = Object.fromEntries(Object.entries(options).map(([name, value]) => [`data.${name}`, value]));
  const names = (Object.keys(keys) as KeyName[]).filter((name) => !["regularizers", "averaging"].includes(name));
  const plain = Object.fromEntries(
    names.map((name) => [name, settings[name as "data"]]).filter(([, value]) => value !== null),
  );
  const ids = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);
  const { regularizers, averaging, hparams } = settings;
  return { ...plain, regularizers: ids(regularizers), averaging: ids(averaging), ...ofData, ...hparams, ...own };
}

/** 16 hexadecimal digits of the SHA-256 of a file's bytes. */
function fileHash(path: string): string {
  const hash = createHash("sha256");
  const piece = Buffer.allocUnsafe(1 << 22);
  const fd = openSync(path, "r");
  try {
    for (let read = readSync(fd, piece); read > 0; read = readSync(fd, piece)) hash.update(piece.subarray(0, read));
  } finally {
    closeSync(fd);
  }
  return hash.digest("hex").slice(0, 16);
}
