/**
 * The settings of a run other than hyperparameters, each declared once: its values, default, help and flag, where
 * `settings.json` has it, and what it means for the identity of a run. Parsing, help, docs, the schema of
 * `settings.json`, ids, rows of tables, searches and resuming are all derived from this. Algorithms, regularizers and
 * followers declare hyperparameters in the same way, and datasets declare their own options (`data.size`);
 * settings/resolve.ts combines them all.
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
  type Meaning,
  number,
  type Option,
  type OptionWithDefault,
  text,
  whole,
  word,
} from "../options.js";

/**
 * What a probe trains: logistic regression, solved exactly; or a linear classifier with any loss, by stochastic
 * gradient descent.
 */
export type ProbeKind = "exact" | "sgd";

/** The protocol that sets the defaults of the length of a run, its evaluations and validation. */
export type ProtocolName = "domainbed" | "swad";

/** The source of the defaults of size, resize and interpolation. */
export type PreprocessingName = "weights" | "domainbed";

/** The length of the short side after resizing, before the centre is cropped; or `stretch` to resize the whole picture to a square. */
export type Resize = number | "stretch";

/** Whether near-duplicates stay on one side of the split of own pictures. */
export type NearDuplicateRule = "together" | "ignore";

const kindsOfProbe = word<ProbeKind>("exact", "sgd");

/** `true` appears in settings of runs from when there was only one kind. */
const probeKind: Kind<ProbeKind | false> = {
  ...kindsOfProbe,
  type: undefined,
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

/** Where `settings.json` has a setting, and what it means there. */
interface Stored {
  /**
   * `always`: with its value, also where the program chose it. `or null`: likewise, or as null if there is none. `unless
   * default`: absent for the default, so that runs from before the setting existed keep their ids. `if set`: absent
   * unless it applies. `as part`, `as parts`: as an object with the options of the part, or a list of these. `never`:
   * only in the request.
   */
  readonly stored: "always" | "or null" | "unless default" | "if set" | "as part" | "as parts" | "never";
  /** The value of runs without it, if it is not the default: that of the time before the setting existed. */
  readonly before?: string | number | boolean;
  /** Whether it names the method, and so the row. */
  readonly names?: true;
}

type Declared<O extends Option, S extends Stored["stored"]> = O & Stored & { readonly stored: S };

interface More extends Meaning {
  readonly flag?: string;
  readonly before?: Stored["before"];
  readonly names?: true;
}

/** Declares a setting of a run. */
function setting<T, const S extends Stored["stored"]>(
  kind: Kind<T>,
  stored: S,
  help: string,
  more: More & { readonly default: NoInfer<T> },
): Declared<OptionWithDefault<T>, S>;
function setting<T, const S extends Stored["stored"]>(
  kind: Kind<T>,
  stored: S,
  help: string,
  more?: More,
): Declared<Option<T>, S>;
function setting(
  kind: Kind<unknown>,
  stored: Stored["stored"],
  help: string,
  more: More & { readonly default?: unknown } = {},
): Option & Stored {
  return { kind, help, stored, ...more };
}

const A_PATH = "a path; the pictures themselves are compared";
const A_COORDINATE = "the runs of a cell differ in it: a cell is a mean over trials, chosen from draws";
const OF_MACHINE = "it changes at most the last digits";
const RECORDS_MORE = "it only records more, and the other records are the same";

export const keys = {
  data: setting(text, "always", "a folder of pictures, a manifest, or the name of a dataset (shapes, pacs, …)", {
    flag: "--data <path|name>",
    unhashed: A_PATH,
    pooled: A_PATH,
    moves: true,
  }),
  root: setting(text, "or null", "the folder that contains the named dataset", {
    flag: "--root <dir>",
    unhashed: A_PATH,
    pooled: A_PATH,
    moves: true,
  }),
  cache: setting(
    text,
    "or null",
    "the cache of decoded pictures (or of features, with probe): a folder, or `false` to disable it",
    { unhashed: "a path", pooled: "a path", moves: true, machine: true },
  ),
  testDomains: setting(
    list,
    "always",
    "the held-out domains (comma-separated, or repeated); in a file, an empty list for none",
    {
      flag: "--test-domain <names>",
      pooled: "it is the column",
    },
  ),
  algorithm: setting(
    text,
    "always",
    "an algorithm, or a method by its name in papers: erm, mixup, ERM-NU, SWAD-CORAL",
    {
      flag: "--algorithm <name>",
      names: true,
    },
  ),
  regularizers: setting(list, "as parts", "penalties added to the loss, such as nuclear-norm", {
    flag: "--regularizer <ids>",
    names: true,
  }),
  averaging: setting(list, "as parts", "weight averages to compute during training, such as swad", {
    flag: "--averaging <ids>",
    names: true,
  }),
  backbone: setting(text, "always", "the feature extractor (default for a benchmark: the same as DomainBed)", {
    flag: "--backbone <id>",
  }),
  pretrained: setting(boolean, "always", "start from pretrained weights (the default if the backbone has any)", {
    flag: "--pretrained",
  }),
  weights: setting(text, "or null", "the pretrained weights to start from: a file, or a name from nudge weights list", {
    flag: "--weights <file|name>",
    unhashed: "a path; the hash of the file is part of the id",
    pooled: "a path; the hashes of the files are compared",
    moves: true,
    machine: true,
  }),
  normalization: setting(
    word<Normalization>("imagenet", "half", "clip", "caffe"),
    "if set",
    "the mean and deviation that pictures are normalized with: imagenet, half (the range -1 to 1), clip or caffe (a mean color is subtracted from the range 0 to 255); the default is what the weights were trained with",
    { before: "imagenet" },
  ),
  preprocessing: setting(
    word<PreprocessingName>("weights", "domainbed"),
    "if set",
    "what size, resize and interpolation default to: weights (as the publisher of the weights evaluates pictures; the default for your own pictures) or domainbed (the default for benchmarks)",
    { unhashed: "the values that it sets are part of the id", before: "domainbed" },
  ),
  size: setting(
    whole(32),
    "if set",
    "height and width of pictures in pixels (default: what preprocessing says, usually 224)",
  ),
  resize: setting(
    resizeKind,
    "if set",
    "the short side in pixels that a picture is resized to before its centre is cropped at evaluation, or stretch to resize the whole picture to the input size whatever its shape (default: what preprocessing says; stretch for domainbed)",
  ),
  interpolation: setting(
    word<Interpolation>("bilinear", "bicubic"),
    "if set",
    "how pictures are resized, with antialias, as Pillow does it (default: what preprocessing says; bilinear for domainbed)",
  ),
  activation: setting(
    word<"exact" | "quick">("exact", "quick"),
    "if set",
    "the GELU of a CLIP image tower, if the file of weights does not specify it: quick (OpenAI, MetaCLIP, DFN) or exact (LAION, DataComp)",
  ),
  lora: setting(
    whole(1),
    "if set",
    "the rank of LoRA: the weights of a vision transformer stay as they are, and products of two matrices of this rank are trained beside them; all weights are trained by default",
  ),
  loraAlpha: setting(
    number({ above: 0 }),
    "if set",
    "the products of LoRA are multiplied by loraAlpha divided by the rank; the rank by default",
  ),
  loraTargets: setting(
    list,
    "if set",
    "the matrices of a block that LoRA adapts: some of q, k, v, proj, fc1 and fc2, with commas between them; q,v by default",
  ),
  probe: setting(
    probeKind,
    "unless default",
    "freeze the backbone and train a linear classifier on its features: exact (logistic regression solved to convergence; the default of nudge train) or sgd (the loss of any algorithm, by stochastic gradient descent)",
    { flag: "--probe [kind]", default: false },
  ),
  probeC: setting(
    strength,
    "if set",
    "the inverse regularization strength C of the exact probe, as in scikit-learn (smaller means a stronger L2 penalty); auto selects it on the training domains",
  ),
  neighbours: setting(
    boolean,
    "if set",
    "whether the exact probe is averaged with a vote of the nearest training pictures, which the model file then stores (the default for your own pictures)",
  ),
  headFirst: setting(
    headFirstKind,
    "if set",
    "train the classifier before the network: exact (or true) initializes it with the exact probe, and a number trains only the classifier in that many first updates",
  ),
  refit: setting(
    boolean,
    "if set",
    "whether the exact probe is fitted again on training and validation pictures after its evaluation, for the final model",
    { pooled: "it only fits the final model again, after all evaluations" },
  ),
  evaluationSize: setting(
    whole(32),
    "if set",
    "height and width in pixels of pictures at evaluation, and of the model's input (default: the training size)",
  ),
  trainOnAll: setting(
    boolean,
    "if set",
    "train on the validation pictures of the training domains too, once the number of steps is known; the model is that of the last step (nudge train --retrain)",
  ),
  retrain: setting(
    boolean,
    "if set",
    "afterwards, train again on all pictures of the training domains, for the number of steps that validation chose; this model becomes that of the run, and the report has a row for it",
    { pooled: "it only adds another model, which has a row of its own" },
  ),
  t3a: setting(
    supports,
    "if set",
    "also evaluate T3A, a classifier that adapts to the test pictures, with this many supports per class (the paper uses 1, 5, 20, 50, 100 and -1 for all)",
    { model: "t3a" },
  ),
  protocol: setting(
    word<ProtocolName>("domainbed", "swad"),
    "always",
    "the protocol that sets the defaults of steps, evaluations and validation: domainbed or swad",
    { flag: "--protocol <name>", default: "domainbed", unhashed: "the values that it sets are part of the id" },
  ),
  optimizer: setting(text, "as part", "the optimizer: adam, adamw, sgd, lars or one of a plug-in", {
    default: "adam",
    searched: true,
    ofUpdates: true,
  }),
  schedule: setting(
    text,
    "as part",
    "the learning-rate schedule: constant, cosine, step, one-cycle, plateau or one of a plug-in",
    { default: "constant", searched: true, ofUpdates: true },
  ),
  warmupSteps: setting(whole(0), "unless default", "the number of updates of linear learning-rate warm-up", {
    default: 0,
    searched: true,
    ofUpdates: true,
  }),
  clipNorm: setting(number({ above: 0 }), "if set", "the maximum norm for gradient clipping (default: no clipping)", {
    searched: true,
    ofUpdates: true,
  }),
  headLr: setting(number({ above: 0 }), "unless default", "the factor on the learning rate of the classifier", {
    default: 1,
    searched: true,
    ofUpdates: true,
  }),
  layerDecay: setting(
    number({ above: 0, most: 1 }),
    "unless default",
    "layer-wise learning-rate decay: the factor from each block of the backbone to the one before it",
    { default: 1, searched: true, ofUpdates: true },
  ),
  freeze: setting(
    freezeKind,
    "unless default",
    "the parts of the backbone that are not trained: none, stem, all-but-N (all but the last N blocks) or all",
    { default: "none", searched: true },
  ),
  stochasticDepth: setting(
    number({ least: 0, below: 1 }),
    "unless default",
    "the probability of stochastic depth at the last block of the backbone; it is smaller at earlier blocks",
    { default: 0, searched: true },
  ),
  patience: setting(
    whole(1),
    "if set",
    "early stopping: stop after this many evaluations without a better validation accuracy; the best model is kept in any case",
  ),
  steps: setting(
    whole(1),
    "always",
    "the total number of updates (default: by the protocol of a benchmark, or chosen by the size of your folder and the device)",
    { flag: "--steps <n>", chosen: 1 },
  ),
  evaluateEvery: setting(
    whole(1),
    "always",
    "the number of updates between evaluations (default: chosen in the same way)",
    {
      flag: "--eval-every <n>",
      chosen: 5,
    },
  ),
  evaluateFirst: setting(boolean, "always", "whether to evaluate after the first update too, as DomainBed does", {
    default: true,
    chosen: 6,
  }),
  evaluateTraining: setting(
    boolean,
    "always",
    "whether to evaluate the training splits (`in`) of the training domains too; model selection does not use them",
    { pooled: RECORDS_MORE, chosen: 7 },
  ),
  measures: setting(
    word<"features" | "all">("features", "all"),
    "unless default",
    "what evaluations record in addition to accuracy: `features` for norms and ranks of the features, `all` also for those of the logits, the entropy of predictions and a measure of curvature",
    { default: "features", pooled: RECORDS_MORE },
  ),
  checkpointEvery: setting(
    whole(0),
    "always",
    "the number of updates between checkpoints, in addition to those at evaluations; 0 for none",
    { default: 0, unhashed: "checkpoints change no numbers", pooled: "checkpoints change no numbers" },
  ),
  keepCheckpoint: setting(
    boolean,
    "if set",
    "keep the checkpoint of a finished run, which is several times as large as its model and which only resuming needs",
    { unhashed: "checkpoints change no numbers", pooled: "checkpoints change no numbers", moves: true },
  ),
  seed: setting(whole(0), "always", "the seed of everything random except splits and hyperparameters", {
    flag: "--seed <n>",
    default: 0,
    pooled: A_COORDINATE,
  }),
  trialSeed: setting(whole(0), "always", "the seed of the trial, which determines the split", {
    flag: "--trial-seed <n>",
    default: 0,
    pooled: A_COORDINATE,
  }),
  hparamsSeed: setting(
    whole(0),
    "always",
    "0 for the default hyperparameters, any other number for a random draw as in DomainBed",
    { flag: "--hparams-seed <n>", default: 0, pooled: A_COORDINATE },
  ),
  sharedSearch: setting(
    boolean,
    "if set",
    "in a search, draw the hyperparameters that all methods share (lr, batchSize, …) from the same ranges with a penalty as without it; by default, a penalty can have its own, as nuclear-norm has for batchSize",
    { flag: "--shared-search", unhashed: "the values that it draws are part of the id" },
  ),
  holdout: setting(number(), "always", "the fraction of each domain that is used for validation", { default: 0.2 }),
  nearDuplicates: setting(
    word<NearDuplicateRule>("together", "ignore"),
    "if set",
    "near-duplicates in your own pictures (resized, compressed again or slightly cropped copies, consecutive frames): together (the default) uses each group of them only for training or only for validation; ignore does so for exact copies only, as before this setting existed",
    { unhashed: "the split that it leads to is part of the id", before: "ignore" },
  ),
  testPictures: setting(
    whole(1),
    "if set",
    "the maximum number of evaluated pictures per held-out domain (default: all)",
    { pooled: "no table has runs with it: without an evaluation on all pictures, nothing can be selected" },
  ),
  augmentValidation: setting(
    boolean,
    "always",
    "whether validation pictures of training domains are augmented (DomainBed) or not (SWAD)",
    { chosen: 8 },
  ),
  batchNormBatches: setting(
    whole(1),
    "always",
    "the number of training batches for the batch-norm statistics of averaged weights, if batch norm is not frozen",
    { default: 500 }, // as in SWAD's code
  ),
  device: setting(text, "always", "cpu, cuda or cuda:1", {
    flag: "--device <device>",
    default: "cpu",
    unhashed: OF_MACHINE,
    pooled: OF_MACHINE,
    moves: true,
    machine: true,
  }),
  precision: setting(
    word<Precision>("float32", "bf16"),
    "always",
    "the precision of matrix products and convolutions: float32 or bf16",
    {
      flag: "--precision <p>",
      default: "float32",
      chosen: 3,
    },
  ),
  threads: setting(
    whole(1),
    "always",
    "the number of CPU threads per operator (default: $OMP_NUM_THREADS, or all cores)",
    {
      flag: "--threads <n>",
      unhashed: OF_MACHINE,
      pooled: OF_MACHINE,
      machine: true,
    },
  ),
  fixed: setting(
    list,
    "never",
    "which of the other settings the user set explicitly, for settings of a planned run or of another run (default: all of them)",
    { unhashed: "a list of other settings", pooled: "a list of other settings" },
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
