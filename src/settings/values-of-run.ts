/**
 * The hyperparameters and plug-in settings of a run: drawn or default values, then the given ones. A key can be the
 * name alone (`alpha=0.1`) or have its owner as a prefix (`mixup.alpha=0.1`).
 */

import { type AlgorithmDefinition, hparamsOn } from "../algorithms/algorithm.js";
import { datasetSize, hparamName, sharedHparams } from "../algorithms/shared-hparams.js";
import { closestName, unknownName } from "../closest-name.js";
import type { Dataset } from "../data/dataset.js";
import { keys, type Request } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import type { Hparam, HparamValue } from "../hparams.js";
import { currentName, defaultsOf, type Options } from "../options.js";
import type { drawHparam } from "./hparam-draws.js";
import type { Method } from "./method.js";
import { settingOfOthers } from "./parts.js";

export interface RunValues {
  /** Shared hyperparameters and those of the algorithm. */
  readonly hparams: Record<string, HparamValue>;
  /** The hyperparameters by unambiguous names: `lr`, `mixup.alpha`. */
  readonly named: Record<string, HparamValue>;
  /** The given values, by the full name: `weight` is `nuclear-norm.weight`. */
  readonly given: ReadonlyMap<string, string>;
  /** The values of a regularizer or follower. */
  of(owner: { readonly id: string }): Record<string, unknown>;
}

/** Values by owner before any are given. The owner "" has the hyperparameters. */
export type UsualValues = ReadonlyMap<string, Readonly<Record<string, HparamValue>>>;

/** What draws depend on. */
export interface DrawKey {
  readonly trialSeed: number;
  readonly hparamsSeed: number;
  readonly pretrained: boolean;
  /** Whether the backbone is frozen, so that the trained part is small. */
  readonly probe: boolean;
  /** Whether the ranges of shared hyperparameters are those of the method without penalties. */
  readonly sharedSearch?: boolean;
}

/** The value of each setting if none is given: a draw, or the default of dataset and plug-in. */
export function usualValues(
  { algorithm, regularizers, averaging, optimizer, schedule }: Method,
  dataset: Dataset,
  { pretrained, probe, sharedSearch = false, trialSeed, hparamsSeed }: DrawKey,
  draw: typeof drawHparam,
): UsualValues {
  const seeds = { trialSeed, hparamsSeed };
  const drawAll = (hparams: object): Record<string, HparamValue> =>
    Object.fromEntries(Object.entries(hparams).map(([name, hparam]) => [name, draw(name, hparam as Hparam, seeds)]));
  // A probe trains as few weights as DomainBed trains from scratch, and needs those learning rates.
  const size = probe ? "small" : datasetSize(dataset.id, dataset.inputShape);
  const overrides = [algorithm.overrides, ...(sharedSearch ? [] : regularizers.map((each) => each.overrides))];
  const shared = sharedHparams({ dataset: dataset.id, size, overrides });
  const drawn = drawAll({ ...shared, ...hparamsOn(size, algorithm, dataset.id) });
  // Batch-norm statistics that were never learned are not worth freezing.
  if (!pretrained && !probe) drawn.freezeBatchNorm = false;
  if (probe) drawn.dataAugmentation = false; // features are computed once
  if (probe && hparamsSeed === 0) drawn.batchSize = 32; // takes half the time of 64
  return new Map([
    ["", drawn],
    ...regularizers.map(({ id, hparams, settings }): [string, Record<string, HparamValue>] => [
      id,
      {
        ...defaultsOf(settings),
        ...(probe && Object.hasOwn(settings, "warmup") && { warmup: 0 }), // its runs end soon after the default warm-up
        ...drawAll(hparams),
      },
    ]),
    ...averaging.map(({ id, settings, forDataset }): [string, Record<string, HparamValue>] => [
      id,
      { ...defaultsOf(settings), ...forDataset?.[dataset.id] } as Record<string, HparamValue>,
    ]),
    ...[optimizer, schedule].flatMap((each): [string, Record<string, HparamValue>][] =>
      each ? [[each.id, defaultsOf(each.options)]] : [],
    ),
  ]);
}

/** Every value of a run: the default, or the given one. */
export function valuesOf(request: Request, method: Method, usual: UsualValues): RunValues {
  const owners = Array.from(usual, ([id, values]) => ({ id, values: { ...values } }));
  const given = new Map<string, string>();
  const isOfOthers = (name: string): boolean =>
    owners.some(({ id, values }) => id !== "" && Object.hasOwn(values, name));
  const nameOf = (name: string): string =>
    isOfOthers(name) ? `${method.algorithm.id}.${name}` : hparamName(name, method.algorithm.id);
  for (const name in request) {
    const value = request[name];
    if (Object.hasOwn(keys, name) || name.startsWith("data.") || value === null || value === undefined) continue;
    const { owner, own } = ownerOf(name, owners, method);
    given.set(name, owner.id === "" ? nameOf(own) : `${owner.id}.${own}`);
    // Regularizers and followers parse their own values.
    owner.values[own] =
      owner.id === "" ? declaredHparams(method.algorithm)[own].kind.read(name, value) : (value as HparamValue);
  }
  const hparams = owners[0].values;
  return {
    hparams,
    named: Object.fromEntries(Object.entries(hparams).map(([name, value]) => [nameOf(name), value])),
    given,
    of: ({ id }) => owners.find((owner) => owner.id === id)!.values,
  };
}

interface Owner {
  readonly id: string;
  readonly values: Record<string, HparamValue>;
}

/** The owner of a key. */
function ownerOf<O extends Owner>(name: string, owners: readonly O[], method: Method): { owner: O; own: string } {
  const { algorithm } = method;
  const dot = name.indexOf(".");
  const [prefix, typed] = dot < 0 ? [undefined, name] : [name.slice(0, dot), name.slice(dot + 1)];
  const own = [...method.regularizers, ...method.averaging].reduce(
    (found, { id, settings }) =>
      prefix === undefined || prefix === id ? currentName(settings as Options, found) : found,
    typed,
  );
  const asked = owners.filter(
    ({ id, values }) => (prefix === undefined || prefix === (id || algorithm.id)) && Object.hasOwn(values, own),
  );
  if (asked.length > 1)
    throw new UsageError(
      `${name}: ${asked.map(({ id }) => `${id || algorithm.id}.${own}`).join(" or ")}? The name is ambiguous; use one of these`,
    );
  if (asked.length === 1) return { owner: asked[0], own };
  const known = [
    ...Object.keys(keys),
    ...owners.flatMap(({ id, values }) => Object.keys(values).map((each) => (id === "" ? each : `${id}.${each}`))),
  ];
  const meant = referenceNamed(name, method);
  if (meant !== undefined)
    throw new UsageError(`unknown setting "${name}": this is the name in the reference code; here it is ${meant}`);
  const common = Object.hasOwn(COMMON, name) ? COMMON[name] : undefined;
  if (common !== undefined) throw new UsageError(`unknown setting "${name}": here it is ${common}`);
  const near = closestName(name, [...known, ...owners.flatMap(({ values }) => Object.keys(values))]);
  const others = settingOfOthers(name, method);
  if (others !== undefined) throw new UsageError(others);
  throw new UsageError(
    near === undefined ? unknownName("setting", name, known) : `unknown setting "${name}": did you mean "${near}"?`,
  );
}

/** Names of settings in other programs. */
const COMMON: Readonly<Record<string, string>> = {
  learning_rate: "lr",
  learningRate: "lr",
  batch: "batchSize",
  batch_size: "batchSize",
  epochs: "steps, the number of updates",
  imgsz: "size",
  img_size: "size",
  model: "backbone",
  weight_decay: "weightDecay",
};

/** The hyperparameters of a run with an algorithm, for their names. Values and ranges differ between datasets. */
export const declaredHparams = (algorithm: AlgorithmDefinition | undefined): Readonly<Record<string, Hparam>> => ({
  ...sharedHparams({ dataset: "", size: "large" }),
  ...(algorithm && hparamsOn("large", algorithm)),
});

/**
 * The setting for a name in DomainBed or in the paper's code: `resnet_dropout` is `dropout`, `theta` is
 * `nuclear-norm.weight`.
 */
function referenceNamed(name: string, { algorithm, regularizers }: Method): string | undefined {
  const all = [
    ...Object.entries(declaredHparams(algorithm)),
    ...regularizers.flatMap(({ id, hparams }) =>
      Object.entries(hparams).map(([each, hparam]): [string, Hparam] => [`${id}.${each}`, hparam]),
    ),
  ];
  return all.find(([, { reference }]) => reference === name)?.[0];
}
