/**
 * The complete settings of a run from its request. Precedence: the protocol and the defaults of plug-ins (or their
 * random draw), then the given values.
 */

import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { checkDomains } from "../algorithms/check-domains.js";
import type { FollowerDefinition } from "../averaging/index.js";
import { type Dataset, domainsNamed, withoutRelated } from "../data/dataset.js";
import { findDataset } from "../data/datasets/index.js";
import {
  type FilledKeys,
  type GivenKeys,
  type KeyName,
  keys,
  type Request,
  readKeys,
  withDefaults,
} from "../declared-settings/keys.js";
import { DataError, UsageError } from "../errors.js";
import type { SettingScalar } from "../records/run.js";
import type { Regularizer } from "../regularizers/index.js";
import { checkExact, checkHeadFirst, checkProbe, checkRetrain } from "./check-probe.js";
import { fixedIn } from "./fixed.js";
import { loraSettings } from "./lora.js";
import type { SettingsMemo } from "./memo.js";
import type { Method } from "./method.js";
import { optimizationSettings } from "./optimization.js";
import { partialTraining } from "./partial-training.js";
import { preprocessingSettings } from "./preprocessing.js";
import { exactProtocol, probeProtocol, protocolFor } from "./protocols.js";
import { type Drawn, optionsOfDraws, rangesByName, withDraws, withoutDrawnOptions, withoutRanges } from "./search.js";
import {
  dataSettings,
  factsOf,
  isOwn,
  loopSettings,
  networkSettings,
  pluginFiles,
  pluginSettings,
  probeSettings,
} from "./setting-parts.js";
import { type Sibling, siblingHash, type TrainSettings } from "./settings.js";
import { type StartingWeights, startingWeights } from "./starting-weights.js";
import { checkUsed } from "./unused.js";
import { declaredHparams, type RunValues, valuesOf } from "./values-of-run.js";

/** The settings of a run, and the objects they stand for. */
export interface RunParts {
  readonly settings: TrainSettings;
  readonly dataset: Dataset;
  readonly algorithm: AlgorithmDefinition;
  readonly regularizers: readonly Regularizer[];
  /** Followers are created when the run starts, because they hold tensors. */
  readonly averaging: readonly FollowerDefinition[];
}

/** A run without its split, which is large: enough for planning many runs. */
export interface SettledRun extends RunParts {
  /** The dataset with all domains, also those that are not used because a related one is held out. */
  readonly whole: Dataset;
  /** The hash that this run shares with its siblings, which differ only in held-out domains, split and seed. */
  readonly hashOf: (sibling: Sibling) => string;
  /** Resolves the same request with another draw or seed; undefined if the request has ranges, on which any setting may depend. */
  readonly redraw?: (draw: Partial<Draw>) => SettledRun;
}

/** The draw of the hyperparameters, and the seed of everything else. */
type Draw = Pick<TrainSettings, "hparamsSeed" | "seed">;

/** A request whose dataset and initial weights are known. */
interface Opened {
  readonly drawn: Drawn;
  readonly given: FilledKeys;
  readonly method: Method;
  readonly options: Request;
  readonly dataset: Dataset;
  readonly whole: Dataset;
  readonly testDomains: readonly string[];
  readonly weights: StartingWeights;
  readonly preprocessing: ReturnType<typeof preprocessingSettings>;
}

/** Resolves a run except for its split, of which the settings contain the hash. */
export async function settle(request: Request, memo: SettingsMemo): Promise<SettledRun> {
  const drawn = withDraws(request, () => declaredHparams(memo.method(readKeys(withoutRanges(request))).algorithm));
  const { asked, ranges } = drawn;
  const given = withDefaults(readKeys(asked));
  const method = memo.method(given);
  // A stored request has every value of its run, also those that nobody set. It has `fixed`.
  if (given.fixed === undefined) checkUsed(method.algorithm, asked);
  const options = optionsIn(asked);
  const opened = await memo.withNearDuplicates(await datasetOf(given, options, memo), given.nearDuplicates);
  if (opened.classes.length < 2)
    throw new DataError(
      `dataset ${given.data}: there is only one class, "${opened.classes[0]}", so there is nothing to classify; put the pictures of each class in a folder of their own`,
    );
  const testDomains = testDomainsOf(asked, given, opened);
  const weights = startingWeights(opened, given, memo);
  const preprocessing = preprocessingSettings(given, weights, { dataset: opened, isOwn: isOwn(opened) });
  const whole = memo.resized(opened, preprocessing.size);
  const dataset = memo.withoutRelated(whole, testDomains);
  const draw = drawing({ drawn, given, method, options, dataset, whole, testDomains, weights, preprocessing }, memo);
  const run = draw(given);
  if (Object.keys(ranges).length > 0) return run;
  const { hparamsSeed, seed } = given;
  return { ...run, redraw: (other) => draw({ hparamsSeed, seed, ...other }) };
}

/** Resolves an opened request by its draw. What does not depend on the draw is resolved once, because a search has thousands of draws. */
function drawing(opened: Opened, memo: SettingsMemo): (draw: Draw) => SettledRun {
  const { drawn, given, method, options, dataset, whole, weights } = opened;
  const { trialSeed, probe, sharedSearch } = given;
  const key = { trialSeed, pretrained: weights.file !== null, probe: probe !== false, sharedSearch };
  const isNamed = findDataset(given.data!) !== undefined;
  const fixable = withoutDrawnOptions(drawn);
  const ofDraws = optionsOfDraws(drawn);
  let shared: ReturnType<typeof sharedSettings> | undefined;
  return ({ hparamsSeed, seed }) => {
    const values = valuesOf(drawn.asked, method, memo.usual(method, dataset, { ...key, hparamsSeed }));
    check(opened, values);
    const regularizers = method.regularizers.map((definition) => definition(values.of(definition)));
    const averaging = method.averaging.map((definition) => {
      using follower = definition(values.of(definition), dataset.id);
      return { id: follower.id, settings: follower.settings };
    });
    shared ??= sharedSettings(opened, memo);
    const { data, network, loop, facts } = shared;
    const settled = {
      format: 1,
      ...data,
      regularizers: regularizers.map(({ id, settings }) => ({ id, settings })),
      averaging,
      ...network,
      hparams: values.hparams,
      ...loop,
      hparamsSeed,
      seed,
      ...optimizationSettings(given, method, values, loop.steps),
    } as const;
    const hashOf = siblingHash(settled, memo.texts);
    const named = Object.assign(settled, { hash: hashOf(settled) });
    const again = Object.assign(
      requestFor(named, values.named, isNamed ? undefined : Object.keys(options)),
      rangesByName(drawn.ranges, values.given),
      ofDraws, // also those of parts that this draw does not have, so that the run resolves to the same facts again
    );
    const fixed = fixedIn(fixable, given, { request: again, hparams: values.given });
    const settings = Object.assign(named, {
      fixed,
      facts: ofDraws ? { ...facts, options: ofDraws } : facts,
      request: Object.assign(again, { fixed: Object.keys(fixed) }),
    });
    return { settings, dataset, whole, ...method, regularizers, hashOf };
  };
}

/** Checks that the method can be trained as requested. */
function check({ given, method, dataset, testDomains }: Opened, { hparams }: RunValues): void {
  checkTraining(method.algorithm, { dataset, testDomains, hparams });
  if (given.probe) checkProbe(dataset, method.algorithm, hparams);
  if (given.probe === "exact") checkExact(method);
  if (given.headFirst === true) checkHeadFirst(dataset, hparams);
  if (given.retrain) checkRetrain(given, method);
}

/** The settings that all draws of a request share, in three groups, between which others are in `settings.json`. */
function sharedSettings(
  { given, method, dataset, whole, testDomains, weights, preprocessing }: Opened,
  memo: SettingsMemo,
) {
  const plugins = pluginFiles(dataset, weights.backbone, method);
  const { probe } = given;
  const protocol = probe === "exact" ? exactProtocol : probe ? probeProtocol : protocolFor(dataset, given.protocol);
  const { steps = protocol.steps } = given;
  return {
    data: { ...dataSettings(given, dataset, testDomains, memo), algorithm: method.algorithm.id },
    network: {
      ...networkSettings(weights, given, memo),
      ...preprocessing,
      ...partialTraining(given, weights.backbone),
      ...loraSettings(given, weights),
      ...probeSettings(given, dataset, steps),
    },
    loop: { ...pluginSettings(plugins), ...loopSettings(given, protocol) },
    facts: factsOf(whole, plugins, memo),
  };
}

/** Resolves runs that differ from a resolved one in the held-out domains, as many runs of a sweep do. */
export function siblingsOf(
  { settings, whole, algorithm, hashOf }: SettledRun,
  memo: SettingsMemo,
): (names: readonly string[], seed?: number) => Sibling & { readonly hash: string } {
  const { trialSeed, holdout, hparams } = settings;
  return (names, seed = settings.seed) => {
    const testDomains = heldOut(names, whole);
    const dataset = memo.withoutRelated(whole, testDomains);
    checkTraining(algorithm, { dataset, testDomains, hparams });
    const splitHash = memo.splitHash(dataset, { trialSeed, testDomains, holdout });
    const sibling = { domains: memo.domainNames(dataset), testDomains, splitHash, seed };
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
  if (testDomains.length >= withoutRelated(dataset, testDomains).domains.length)
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
  settings: Omit<TrainSettings, "request" | "fixed" | "facts">,
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
