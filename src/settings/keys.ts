/**
 * The settings of a run other than hyperparameters. Algorithms, regularizers and followers declare hyperparameters, and
 * datasets declare their own options (`data.size`); resolve.ts combines them all.
 */

import type { Freeze } from "../backbones/depth.js";
import { closestName } from "../closest-name.js";
import type { Interpolation } from "../data/framing.js";
import type { Normalization } from "../data/normalization.js";
import { UsageError } from "../errors.js";
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
import type { PreprocessingName, Resize } from "./preprocessing.js";
import type { ProtocolName } from "./protocols.js";

/**
 * What a probe trains: logistic regression, solved exactly; or a linear classifier with any loss, by stochastic
 * gradient descent.
 */
export type ProbeKind = "exact" | "sgd";

/** Whether near-duplicates stay on one side of the split of own pictures. */
export type NearDuplicateRule = "together" | "ignore";

const kindsOfProbe = word<ProbeKind>("exact", "sgd");

/** `true` appears in settings of runs from when there was only one kind. */
const probeKind: Kind<ProbeKind | false> = {
  ...kindsOfProbe,
  read(name, value) {
    if (value === true || value === "true") return "sgd";
    if (value === false || value === "false") return false;
    return kindsOfProbe.read(name, value);
  },
};

const headFirstKind: Kind<boolean | number> = {
  accepts: "exact, false, or a number of updates (at least 1)",
  read(name, value) {
    if (value === "exact" || value === true || value === "true") return true;
    if (value === false || value === "false") return false;
    const updates = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof updates === "number" && !Number.isNaN(updates)) return whole(1).read(name, value);
    const near = closestName(String(value), ["exact", "true", "false"]);
    throw new UsageError(
      `${name}: expected ${headFirstKind.accepts}; got "${value}"${near ? `. Did you mean "${near}"?` : ""}`,
    );
  },
};

const supports: Kind<number> = {
  accepts: "an integer of at least 1, or -1 for all",
  read: (name, value) => (Number(value) === -1 ? -1 : whole(1).read(name, value)),
};

const freezeKind: Kind<Freeze | "none"> = {
  accepts: "none, stem, all-but-N or all",
  known: ["none", "stem", "all"],
  read(name, value) {
    const text = String(value);
    if (text === "none" || text === "stem" || text === "all" || /^all-but-[1-9]\d{0,3}$/.test(text))
      return text as Freeze | "none";
    throw new UsageError(
      `${name}: expected none, stem, all, or all-but-N with the number of last blocks that are trained, such as all-but-3; got ${text}`,
    );
  },
};

const resizeKind: Kind<Resize> = {
  accepts: "a number of pixels of at least 32, or stretch",
  read: (name, value) => (value === "stretch" ? value : whole(32).read(name, value)),
};

const strength: Kind<number | "auto"> = {
  accepts: "auto, or a number above 0",
  read: (name, value) => (value === "auto" ? value : number({ above: 0 }).read(name, value)),
};

export const keys = {
  data: option(text, "a folder of pictures, a manifest, or the name of a dataset (shapes, pacs, …)", {
    flag: "--data <path|name>",
  }),
  root: option(text, "the folder that contains the named dataset", { flag: "--root <dir>" }),
  cache: option(text, "the cache of decoded pictures (or of features, with probe): a folder, or `false` to disable it"),
  testDomains: option(list, "the held-out domains (comma-separated, or repeated); in a file, an empty list for none", {
    flag: "--test-domain <names>",
  }),
  algorithm: option(text, "an algorithm, or a method by its name in papers: erm, mixup, ERM-NU, SWAD-CORAL", {
    flag: "--algorithm <name>",
  }),
  regularizers: option(list, "penalties added to the loss, such as nuclear-norm", { flag: "--regularizer <ids>" }),
  averaging: option(list, "weight averages to compute during training, such as swad", {
    flag: "--averaging <ids>",
  }),
  backbone: option(text, "the feature extractor (default for a benchmark: the same as DomainBed)", {
    flag: "--backbone <id>",
  }),
  pretrained: option(boolean, "start from pretrained weights (the default if the backbone has any)", {
    flag: "--pretrained",
  }),
  weights: option(text, "the pretrained weights to start from: a file, or a name from nudge weights list", {
    flag: "--weights <file|name>",
  }),
  normalization: option(
    word<Normalization>("imagenet", "half", "clip"),
    "the mean and deviation that pictures are normalized with: imagenet, half (the range -1 to 1) or clip; the default is what the weights were trained with",
  ),
  preprocessing: option(
    word<PreprocessingName>("weights", "domainbed"),
    "what size, resize and interpolation default to: weights (as the publisher of the weights evaluates pictures; the default for your own pictures) or domainbed (the default for benchmarks)",
  ),
  size: option(whole(32), "height and width of pictures in pixels (default: what preprocessing says, usually 224)"),
  resize: option(
    resizeKind,
    "the short side in pixels that a picture is resized to before its centre is cropped at evaluation, or stretch to resize the whole picture to the input size whatever its shape (default: what preprocessing says; stretch for domainbed)",
  ),
  interpolation: option(
    word<Interpolation>("bilinear", "bicubic"),
    "how pictures are resized, with antialias, as Pillow does it (default: what preprocessing says; bilinear for domainbed)",
  ),
  activation: option(
    word<"exact" | "quick">("exact", "quick"),
    "the GELU of a CLIP image tower, if the file of weights does not specify it: quick (OpenAI, MetaCLIP, DFN) or exact (LAION, DataComp)",
  ),
  lora: option(
    whole(1),
    "the rank of LoRA: the weights of a vision transformer stay as they are, and products of two matrices of this rank are trained beside them; all weights are trained by default",
  ),
  loraAlpha: option(
    number({ above: 0 }),
    "the products of LoRA are multiplied by loraAlpha divided by the rank; the rank by default",
  ),
  loraTargets: option(
    list,
    "the matrices of a block that LoRA adapts: some of q, k, v, proj, fc1 and fc2, with commas between them; q,v by default",
  ),
  probe: option(
    probeKind,
    "freeze the backbone and train a linear classifier on its features: exact (logistic regression solved to convergence; the default of nudge train) or sgd (the loss of any algorithm, by stochastic gradient descent)",
    { flag: "--probe [kind]", default: false },
  ),
  probeC: option(
    strength,
    "the inverse regularization strength C of the exact probe, as in scikit-learn (smaller means a stronger L2 penalty); auto selects it on the training domains",
  ),
  headFirst: option(
    headFirstKind,
    "train the classifier before the network: exact (or true) initializes it with the exact probe, and a number trains only the classifier in that many first updates",
  ),
  refit: option(
    boolean,
    "whether the exact probe is fitted again on training and validation pictures after its evaluation, for the final model",
  ),
  evaluationSize: option(
    whole(32),
    "height and width in pixels of pictures at evaluation, and of the model's input (default: the training size)",
  ),
  trainOnAll: option(
    boolean,
    "train on the validation pictures of the training domains too, once the number of steps is known; the model is that of the last step (nudge train --retrain)",
  ),
  retrain: option(
    boolean,
    "afterwards, train again on all pictures of the training domains, for the number of steps that validation chose; this model becomes that of the run, and the report has a row for it",
  ),
  t3a: option(
    supports,
    "also evaluate T3A, a classifier that adapts to the test pictures, with this many supports per class (the paper uses 1, 5, 20, 50, 100 and -1 for all)",
  ),
  protocol: option(
    word<ProtocolName>("domainbed", "swad"),
    "the protocol that sets the defaults of steps, evaluations and validation: domainbed or swad",
    { flag: "--protocol <name>", default: "domainbed" },
  ),
  optimizer: option(text, "the optimizer: adam (the default), adamw, sgd, lars or one of a plug-in"),
  schedule: option(
    text,
    "the learning-rate schedule: constant (the default), cosine, step, one-cycle, plateau or one of a plug-in",
  ),
  warmupSteps: option(whole(0), "the number of updates of linear learning-rate warm-up (default: 0)"),
  clipNorm: option(number({ above: 0 }), "the maximum norm for gradient clipping (default: no clipping)"),
  headLr: option(number({ above: 0 }), "the factor on the learning rate of the classifier (default: 1)"),
  layerDecay: option(
    number({ above: 0, most: 1 }),
    "layer-wise learning-rate decay: the factor from each block of the backbone to the one before it (default: 1)",
  ),
  freeze: option(
    freezeKind,
    "the parts of the backbone that are not trained: none (the default), stem, all-but-N (all but the last N blocks) or all",
  ),
  stochasticDepth: option(
    number({ least: 0, below: 1 }),
    "the probability of stochastic depth at the last block of the backbone; it is smaller at earlier blocks (default: 0)",
  ),
  patience: option(
    whole(1),
    "early stopping: stop after this many evaluations without a better validation accuracy; the best model is kept in any case",
  ),
  steps: option(
    whole(1),
    "the total number of updates (default: by the protocol of a benchmark, or chosen by the size of your folder and the device)",
    { flag: "--steps <n>" },
  ),
  evaluateEvery: option(whole(1), "the number of updates between evaluations (default: chosen in the same way)", {
    flag: "--eval-every <n>",
  }),
  evaluateFirst: option(boolean, "whether to evaluate after the first update too, as DomainBed does", {
    default: true,
  }),
  evaluateTraining: option(
    boolean,
    "whether to evaluate the training splits (`in`) of the training domains too; model selection does not use them",
  ),
  measures: option(
    word<"features" | "all">("features", "all"),
    "what evaluations record in addition to accuracy: `features` for norms and ranks of the features, `all` also for those of the logits, the entropy of predictions and a measure of curvature",
    { default: "features" },
  ),
  checkpointEvery: option(
    whole(0),
    "the number of updates between checkpoints, in addition to those at evaluations; 0 for none",
    { default: 0 },
  ),
  seed: option(whole(0), "the seed of everything random except splits and hyperparameters", {
    flag: "--seed <n>",
    default: 0,
  }),
  trialSeed: option(whole(0), "the seed of the trial, which determines the split", {
    flag: "--trial-seed <n>",
    default: 0,
  }),
  hparamsSeed: option(
    whole(0),
    "0 for the default hyperparameters, any other number for a random draw as in DomainBed",
    { flag: "--hparams-seed <n>", default: 0 },
  ),
  holdout: option(number(), "the fraction of each domain that is used for validation", { default: 0.2 }),
  nearDuplicates: option(
    word<NearDuplicateRule>("together", "ignore"),
    "near-duplicates in your own pictures (resized, compressed again or slightly cropped copies, consecutive frames): together (the default) uses each group of them only for training or only for validation; ignore does so for exact copies only, as before this setting existed",
  ),
  testPictures: option(whole(1), "the maximum number of evaluated pictures per held-out domain (default: all)"),
  augmentValidation: option(
    boolean,
    "whether validation pictures of training domains are augmented (DomainBed) or not (SWAD)",
  ),
  batchNormBatches: option(
    whole(1),
    "the number of training batches for the batch-norm statistics of averaged weights, if batch norm is not frozen",
    { default: 500 }, // as in SWAD's code
  ),
  device: option(text, "cpu, cuda or cuda:1", { flag: "--device <device>", default: "cpu" }),
  precision: option(
    word<Precision>("float32", "bf16"),
    "the precision of matrix products and convolutions: float32 or bf16",
    {
      flag: "--precision <p>",
      default: "float32",
    },
  ),
  threads: option(whole(1), "the number of CPU threads per operator (default: $OMP_NUM_THREADS, or all cores)", {
    flag: "--threads <n>",
  }),
  fixed: option(
    list,
    "which of the other settings the user set explicitly, for settings of a planned run or of another run (default: all of them)",
  ),
} as const;

export type KeyName = keyof typeof keys;
type ValueOf<K extends KeyName> = (typeof keys)[K] extends Option<infer T> ? T : never;
type DefaultedName = { [K in KeyName]: (typeof keys)[K] extends { readonly default: unknown } ? K : never }[KeyName];

/** The given settings of a run, parsed. */
export type GivenKeys = { readonly [K in KeyName]?: ValueOf<K> };

/** The same, with defaults. */
export type FilledKeys = GivenKeys & { readonly [K in DefaultedName]: ValueOf<K> };

/** Settings by name, as they were given: texts, or values from a YAML file. */
export type Request = Given;

/** Parses the settings of a request that are declared in `keys`. */
export function readKeys(request: Request): GivenKeys {
  const given: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(request))
    if (Object.hasOwn(keys, name) && value !== undefined && value !== null)
      given[name] = keys[name as KeyName].kind.read(name, value);
  return given as GivenKeys;
}

const defaults: object = defaultsOf(keys);

/** The given settings, and the defaults of the others. */
export const withDefaults = (given: GivenKeys): FilledKeys => ({ ...defaults, ...given }) as FilledKeys;

/** Settings other than hyperparameters and options of plug-ins that can be drawn. */
export const SEARCHED_KEYS: readonly string[] = [
  "optimizer",
  "schedule",
  "warmupSteps",
  "clipNorm",
  "headLr",
  "layerDecay",
  "freeze",
  "stochasticDepth",
] satisfies KeyName[];

/** Settings other than hyperparameters that make a run another row of a table when the user sets them explicitly. */
const OF_ROWS: readonly string[] = [
  "protocol",
  "probe",
  "probeC",
  "headFirst",
  "t3a",
  "trainOnAll",
  "evaluationSize",
  ...SEARCHED_KEYS,
  "patience",
  "steps",
  "evaluateEvery",
  "evaluateFirst",
  "backbone",
  "pretrained",
  "normalization",
  "preprocessing",
  "size",
  "resize",
  "interpolation",
  "activation",
  "lora",
  "loraAlpha",
  "loraTargets",
  "holdout",
  "augmentValidation",
  "batchNormBatches",
  "precision",
];

/** Whether a setting makes a run another row of a table when the user sets it explicitly. */
export const makesRow = (name: string): boolean =>
  // Where SWAD stops determines only the length of the run; the average is the same.
  Object.hasOwn(keys, name) ? OF_ROWS.includes(name) : name !== "swad.afterValley" && name !== "swad.whenLeft";
