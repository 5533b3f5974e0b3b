/**
 * The settings of a run that are no hyperparameters. Hyperparameters are declared by algorithms, regularizers and followers,
 * and datasets declare options of their own (`data.size`); see resolve.ts for how they all come together.
 */

import type { Normalization } from "../data/normalization.js";
import type { Precision } from "../nn/precision.js";
import {
  boolean,
  defaultsOf,
  type Given,
  type Kind,
  list,
  number,
  type Option,
  option,
  text,
  whole,
  word,
} from "../options.js";
import type { ProtocolName } from "./protocols.js";

/** What a probe trains: logistic regression, solved exactly; or a linear map under any loss, by stochastic gradients. */
export type ProbeKind = "exact" | "sgd";

const kindsOfProbe = word<ProbeKind>("exact", "sgd");

/** `true` is what runs have in their settings from when there was one kind. */
const probeKind: Kind<ProbeKind | false> = {
  ...kindsOfProbe,
  read(name, value) {
    if (value === true || value === "true") return "sgd";
    if (value === false || value === "false") return false;
    return kindsOfProbe.read(name, value);
  },
};

const headFirstKind: Kind<boolean | number> = {
  accepts: "exact, false, or a number of updates from 1",
  read(name, value) {
    if (value === "exact" || value === true || value === "true") return true;
    if (value === false || value === "false") return false;
    return whole(1).read(name, value);
  },
};

const supports: Kind<number> = {
  accepts: "a whole number from 1, or -1 for all",
  read: (name, value) => (Number(value) === -1 ? -1 : whole(1).read(name, value)),
};

const strength: Kind<number | "auto"> = {
  accepts: "auto, or a number above 0",
  read: (name, value) => (value === "auto" ? value : number({ above: 0 }).read(name, value)),
};

export const keys = {
  data: option(text, "a folder of pictures, a manifest, or a dataset's name (shapes, pacs, …)", {
    flag: "--data <path|name>",
  }),
  root: option(text, "the folder that contains the named dataset", { flag: "--root <dir>" }),
  cache: option(
    text,
    "where decoded pictures, or with probe their features, are kept: a folder, or `false` to make them again each time",
  ),
  testDomains: option(list, "the domains held out, with commas between them; an empty list in a file for none", {
    flag: "--test-domain <names>",
  }),
  algorithm: option(text, "an algorithm, or a method as papers name it: erm, mixup, ERM-NU, SWAD-CORAL", {
    flag: "--algorithm <name>",
  }),
  regularizers: option(list, "penalties added to the loss, such as nuclear-norm", { flag: "--regularizer <ids>" }),
  averaging: option(list, "averages of the weights to keep beside the trained model, such as swad", {
    flag: "--averaging <ids>",
  }),
  backbone: option(text, "the feature extractor; the reference's for a benchmark by default", {
    flag: "--backbone <id>",
  }),
  pretrained: option(boolean, "start from trained weights; the default where there are any", { flag: "--pretrained" }),
  weights: option(text, "trained weights to start from: a file, or a name of nudge weights list", {
    flag: "--weights <file|name>",
  }),
  normalization: option(
    word<Normalization>("imagenet", "half", "clip"),
    "the mean and deviation that pictures are normalized with: imagenet, half (the range -1 to 1) or clip; the default is what the weights were trained with",
  ),
  activation: option(
    word<"exact" | "quick">("exact", "quick"),
    "which GELU a CLIP image tower has, where the file of weights does not say: quick (OpenAI, MetaCLIP, DFN) or exact (LAION, DataComp)",
  ),
  probe: option(
    probeKind,
    "keep the network as it is and train a linear classifier on its features: exact (logistic regression solved to convergence; the default of nudge train) or sgd (any algorithm's loss, by stochastic gradients)",
    { flag: "--probe [kind]", default: false },
  ),
  probeC: option(
    strength,
    "scikit-learn's C of the exact probe, smaller for a stronger L2 penalty; auto chooses it on the training domains",
  ),
  headFirst: option(
    headFirstKind,
    "train the classifier before the network: exact (or true) starts it as the exact probe, a number has so many first updates move it alone",
  ),
  refit: option(
    boolean,
    "whether an exact probe, once measured, is fitted again with the validation pictures for the model that is used",
  ),
  evaluationSize: option(
    whole(32),
    "height and width in pixels of pictures that are evaluated, and of the model's input; the training size by default",
  ),
  t3a: option(
    supports,
    "evaluate T3A too, as another row: a classifier that adapts to the pictures as they come, with so many supports of each class (the paper tries 1, 5, 20, 50, 100 and -1, all)",
  ),
  protocol: option(
    word<ProtocolName>("domainbed", "swad"),
    "whose protocol settles steps, evaluations and validation where they are not given: domainbed or swad",
    { flag: "--protocol <name>", default: "domainbed" },
  ),
  optimizer: option(text, "what makes the steps: adam, the default, adamw, sgd, lars or a plug-in's"),
  schedule: option(
    text,
    "how the learning rate changes over the run: constant, the default, cosine, step, one-cycle or a plug-in's",
  ),
  warmupSteps: option(whole(0), "updates over which the learning rate rises from almost 0; 0 by default"),
  clipNorm: option(number({ above: 0 }), "the largest norm of all gradients together; no limit by default"),
  headLr: option(number({ above: 0 }), "what the learning rate of the classifier is multiplied by; 1 by default"),
  patience: option(
    whole(1),
    "stop after so many evaluations without a better validation accuracy; the model is the best one in any case",
  ),
  steps: option(
    whole(1),
    "updates in all; by default what a benchmark's protocol has, or what fits one's own folder and device",
    { flag: "--steps <n>" },
  ),
  evaluateEvery: option(whole(1), "updates from one evaluation to the next; by default likewise", {
    flag: "--eval-every <n>",
  }),
  evaluateFirst: option(boolean, "whether to evaluate after the first update too, as the reference does", {
    default: true,
  }),
  evaluateTraining: option(
    boolean,
    "whether the `in` parts of training domains, which are trained on, are evaluated too; selection does not read them",
  ),
  measures: option(
    word<"features" | "all">("features", "all"),
    "what evaluations record besides accuracy: `features` for norms and ranks of the features, `all` for those of the logits too, the entropy of predictions and a measure of curvature",
    { default: "features" },
  ),
  checkpointEvery: option(
    whole(0),
    "updates from one checkpoint to the next, besides those at evaluations; 0 for none",
    { default: 0 },
  ),
  seed: option(whole(0), "all randomness but splits and hyperparameters", { flag: "--seed <n>", default: 0 }),
  trialSeed: option(whole(0), "another trial, another split", { flag: "--trial-seed <n>", default: 0 }),
  hparamsSeed: option(
    whole(0),
    "0 for the default hyperparameters, another number for a random draw, as the reference draws",
    { flag: "--hparams-seed <n>", default: 0 },
  ),
  holdout: option(number(), "the fraction of each domain held back for validation", { default: 0.2 }),
  testPictures: option(whole(1), "the most pictures of each held-out domain that are evaluated; all by default"),
  augmentValidation: option(
    boolean,
    "whether validation pictures of training domains are augmented (DomainBed) or not (SWAD)",
  ),
  batchNormBatches: option(
    whole(1),
    "training batches from which averaged weights get batch-norm statistics, where these are not frozen",
    { default: 500 }, // as SWAD's code has it
  ),
  device: option(text, "cpu, cuda or cuda:1", { flag: "--device <device>", default: "cpu" }),
  precision: option(word<Precision>("float32", "bf16"), "of matrix products and convolutions: float32 or bf16", {
    flag: "--precision <p>",
    default: "float32",
  }),
  threads: option(whole(1), "CPU threads an operator may use; all by default", { flag: "--threads <n>" }),
  fixed: option(
    list,
    "which of the other settings were set by hand, where they are those of a planned run or of another run; all of them by default",
  ),
} as const;

export type KeyName = keyof typeof keys;
type ValueOf<K extends KeyName> = (typeof keys)[K] extends Option<infer T> ? T : never;
type DefaultedName = { [K in KeyName]: (typeof keys)[K] extends { readonly default: unknown } ? K : never }[KeyName];

/** The settings of a run that were given, read. */
export type GivenKeys = { readonly [K in KeyName]?: ValueOf<K> };

/** The same, with defaults where there are any. */
export type FilledKeys = GivenKeys & { readonly [K in DefaultedName]: ValueOf<K> };

/** Settings by name, as they were given: texts, or what a YAML file had. */
export type Request = Given;

/** Reads those of a request that are named in `keys`. */
export function readKeys(request: Request): GivenKeys {
  const names = Object.keys(keys) as KeyName[];
  const given = names.filter((name) => request[name] !== undefined && request[name] !== null);
  return Object.fromEntries(given.map((name) => [name, keys[name].kind.read(name, request[name])])) as GivenKeys;
}

const defaults: object = defaultsOf(keys);

/** Those that were given, and the defaults of the others. */
export const withDefaults = (given: GivenKeys): FilledKeys => ({ ...defaults, ...given }) as FilledKeys;

/** Settings that are no hyperparameters and make a run another row of a table when they are set by hand. */
const OF_ROWS: readonly string[] = [
  "protocol",
  "probe",
  "probeC",
  "headFirst",
  "t3a",
  "evaluationSize",
  "optimizer",
  "schedule",
  "warmupSteps",
  "clipNorm",
  "headLr",
  "patience",
  "steps",
  "evaluateEvery",
  "evaluateFirst",
  "backbone",
  "pretrained",
  "normalization",
  "activation",
  "holdout",
  "augmentValidation",
  "batchNormBatches",
  "precision",
];

/** Whether a setting makes a run another row of a table when it is set by hand. */
export const makesRow = (name: string): boolean =>
  // Where SWAD stops says how long the run is; the average is the same.
  Object.hasOwn(keys, name) ? OF_ROWS.includes(name) : name !== "swad.whenLeft";
