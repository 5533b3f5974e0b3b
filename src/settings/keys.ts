/**
 * The settings of a run that are no hyperparameters: their names, what they accept and what they mean. Hyperparameters are
 * declared by algorithms, regularizers and followers, and datasets declare options of their own (`data.size`); see
 * resolve.ts for how they all come together.
 */

import type { Precision } from "../nn/precision.js";
import type { ProtocolName } from "./protocols.js";
import { boolean, list, number, type Read, text, whole, word } from "./values.js";

interface Key<T> {
  readonly read: Read<T>;
  readonly about: string;
}

const key = <T>(read: Read<T>, about: string): Key<T> => ({ read, about });

const fraction: Read<number> = (name, value) => number(name, value); // splitDataset says what a fraction must be

export const keys = {
  data: key(text, "a folder of pictures, a manifest, or a dataset's name"),
  root: key(text, "the folder a named dataset lies in"),
  cache: key(
    text,
    "where decoded pictures, or with probe their features, are kept: a folder, or `false` to make them anew each time",
  ),
  testDomains: key(list, "the domains held out; an empty list in a file for none"),
  algorithm: key(text, "an algorithm, or a paper's name for a method, such as ERM-NU or SWAD-CORAL"),
  regularizers: key(list, "penalties added to the loss"),
  averaging: key(list, "averages of the weights to keep beside the trained model"),
  backbone: key(text, "the feature extractor"),
  pretrained: key(boolean, "whether the backbone starts from trained weights"),
  weights: key(text, "the file of trained weights"),
  probe: key(boolean, "whether the backbone stays as it is, and a linear map on its features is trained"),
  protocol: key(
    word<ProtocolName>("domainbed", "swad"),
    "whose protocol settles steps, evaluations and validation where they are not given: domainbed or swad",
  ),
  steps: key(whole(1), "updates in all"),
  evaluateEvery: key(whole(1), "updates from one evaluation to the next"),
  evaluateFirst: key(boolean, "whether to evaluate after the first update too, as the reference does"),
  evaluateTraining: key(
    boolean,
    "whether the `in` parts of training domains, which are trained on, are evaluated too; selection does not read them",
  ),
  measures: key(
    word<"features" | "all">("features", "all"),
    "what evaluations record besides accuracy: `features` for norms and ranks of the features (the default), `all` for those of the logits too, the entropy of predictions and a measure of curvature",
  ),
  checkpointEvery: key(whole(0), "updates from one checkpoint to the next, besides those at evaluations; 0 for none"),
  seed: key(whole(0), "all randomness but splits and hyperparameters"),
  trialSeed: key(whole(0), "another trial, another split"),
  hparamsSeed: key(whole(0), "0 for the default hyperparameters, another number for a random draw of them"),
  holdout: key(fraction, "the fraction of each domain held back for validation"),
  augmentValidation: key(
    boolean,
    "whether validation pictures of training domains are augmented (DomainBed) or not (SWAD)",
  ),
  batchNormBatches: key(
    whole(1),
    "training batches from which averaged weights get batch-norm statistics, where these are not frozen",
  ),
  device: key(text, "cpu, cuda or cuda:1"),
  precision: key(word<Precision>("float32", "bf16"), "of matrix products and convolutions"),
  threads: key(whole(1), "CPU threads an operator may use"),
  fixed: key(
    list,
    "which of the other settings were set by hand, where they are those of a planned run or of another run; all of them by default",
  ),
} as const;

export type KeyName = keyof typeof keys;
type ValueOf<K extends KeyName> = (typeof keys)[K] extends Key<infer T> ? T : never;

/** The settings of a run that were given, read. */
export type GivenKeys = { readonly [K in KeyName]?: ValueOf<K> };

/** Settings by name, as they were given: texts, or what a YAML file had. */
export type Request = Readonly<Record<string, unknown>>;

/** Reads those of a request that are named in `keys`. */
export function readKeys(request: Request): GivenKeys {
  const names = Object.keys(keys) as KeyName[];
  const given = names.filter((name) => request[name] !== undefined && request[name] !== null);
  return Object.fromEntries(given.map((name) => [name, keys[name].read(name, request[name])])) as GivenKeys;
}

/** Settings that are no hyperparameters and make a run another row of a table when they are set by hand. */
const OF_ROWS: readonly string[] = [
  "protocol",
  "probe",
  "steps",
  "evaluateEvery",
  "evaluateFirst",
  "backbone",
  "pretrained",
  "holdout",
  "augmentValidation",
  "batchNormBatches",
  "precision",
];

/** Whether a setting makes a run another row of a table when it is set by hand. */
export const makesRow = (name: string): boolean =>
  // Where SWAD stops says how long the run is; the average is the same.
  Object.hasOwn(keys, name) ? OF_ROWS.includes(name) : name !== "swad.whenLeft";
