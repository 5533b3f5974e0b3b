/** The resolved settings of a run: the content of `settings.json`, and the part of it that names the run. */

import { followers } from "../averaging/index.js";
import type { LoraTarget } from "../backbones/add-lora.js";
import type { NetworkVariant } from "../backbones/backbone.js";
import type { Freeze } from "../backbones/depth.js";
import type { Interpolation } from "../data/framing.js";
import { type Colours, type Normalization, normalizations } from "../data/normalization.js";
import { isHashed } from "../declared-settings/declared.js";
import type { PreprocessingName, ProtocolName, Resize } from "../declared-settings/keys.js";
import type { PluginFile } from "../definitions.js";
import { canonicalJson, type KnownTexts, textHash } from "../files/canonical-json.js";
import type { Precision } from "../nn/precision.js";
import { underFormerNames } from "../options.js";
import type { RunFacts } from "../records/facts.js";
import type { RunSettings, SettingScalar } from "../records/run.js";

/** The complete settings. Together with the files that they name, they determine every record of a run on the CPU. */
export interface TrainSettings extends RunSettings {
  /** The format version of this file. */
  readonly format: 1;
  /** The 16 hexadecimal digits with which the name of the run folder begins. */
  readonly hash: string;
  /** As given: a name or a path. */
  readonly data: string;
  readonly root: string | null;
  readonly cache: string | null;
  readonly datasetOptions: Readonly<Record<string, SettingScalar>>;
  readonly splitHash: string;
  /** The fingerprint of own pictures, also of a plug-in's; absent for benchmarks, whose counts are published. */
  readonly pictures?: string;
  /** Whether the split kept near-duplicates together; absent for benchmarks, and in runs of earlier versions. */
  readonly nearDuplicates?: "together";
  readonly classes: readonly string[];
  readonly inputShape: readonly number[];
  readonly backbone: string;
  readonly pretrained: boolean;
  /** The file of initial weights and the first 16 digits of its SHA-256; null without a file. */
  readonly weights: string | null;
  readonly weightsHash: string | null;
  /** The normalization of pictures; absent for ImageNet's mean and standard deviation. */
  readonly normalization?: Normalization;
  /** The source of the defaults of the next three settings; absent for arrays, and in runs of earlier versions, which had no choice. */
  readonly preprocessing?: PreprocessingName;
  /** How pictures become the input of the network; absent if it is as in DomainBed. */
  readonly size?: number;
  readonly resize?: Resize;
  readonly interpolation?: Interpolation;
  /** As given; absent if the weights determine it. */
  readonly activation?: "exact" | "quick";
  /** What the publisher of the weights chose and no tensor shows; absent if it is the default of the backbone. */
  readonly variant?: NetworkVariant;
  /** The rank of LoRA, its scale times the rank, and the matrices it adapts; absent without LoRA. */
  readonly lora?: number;
  readonly loraAlpha?: number;
  readonly loraTargets?: readonly LoraTarget[];
  /** Whether the backbone is frozen and a linear classifier is trained: by gradient descent (`true`), or exactly. */
  readonly probe?: true | "exact";
  /** The C of the exact probe, for a probe or for the classifier that a run starts from. */
  readonly probeC?: number | "auto";
  /** Whether the exact probe is averaged with a vote of the nearest training pictures. */
  readonly neighbours?: true;
  /** Whether the classifier starts as the exact probe, or the number of updates that train only the classifier. */
  readonly headFirst?: true | number;
  readonly refit?: true;
  /** Absent if all pictures of held-out domains are evaluated. */
  readonly testPictures?: number;
  /** The number of supports per class that T3A keeps, −1 for all; absent if T3A is not evaluated. */
  readonly t3a?: number;
  /** Whether the validation pictures of the training domains are trained on too. */
  readonly trainOnAll?: true;
  /** Whether the run trains again on all pictures of the training domains after validation has chosen its length. */
  readonly retrain?: true;
  /** Absent if pictures have the same size at evaluation and in training. */
  readonly evaluationSize?: number;
  /** The protocol that provided the defaults; for runs from before there were two, this is DomainBed's. */
  readonly protocol: ProtocolName;
  /** Whether penalties do not change the search ranges of shared hyperparameters. */
  readonly sharedSearch?: true;
  /** The plug-ins that parts of the run came from; absent if all parts are built-in. */
  readonly plugins?: readonly PluginFile[];
  readonly freeze?: Freeze;
  /** The number of evaluations without a better validation accuracy after which the run stops. */
  readonly patience?: number;
  readonly steps: number;
  readonly evaluateEvery: number;
  readonly evaluateFirst: boolean;
  readonly evaluateTraining: boolean;
  /** Absent if only features are measured, as in runs from before there was a choice. */
  readonly measures?: "all";
  readonly checkpointEvery: number;
  /** Whether the checkpoint stays when the run is done. */
  readonly keepCheckpoint?: true;
  readonly holdout: number;
  readonly augmentValidation: boolean;
  readonly batchNormBatches: number;
  readonly device: string;
  readonly precision: Precision;
  readonly threads: number;
  /** What the id does not have: the samples and all code of plug-ins. Absent in runs of earlier versions. */
  readonly facts?: RunFacts;
  /** The id that these settings have, for a run whose id also depends on its facts, because that id was taken. */
  readonly base?: string;
  /** The request that repeats this run even if defaults change: every key that `nudge train` accepts. */
  readonly request: Readonly<Record<string, SettingScalar | readonly string[]>>;
}

/** The shape of a sample at evaluation, and of the model's input. */
export function evaluationShape({
  inputShape,
  evaluationSize,
}: Pick<TrainSettings, "inputShape" | "evaluationSize">): readonly number[] {
  return evaluationSize === undefined ? inputShape : [inputShape[0], evaluationSize, evaluationSize];
}

/** The normalization of a run's pictures. */
export const coloursOf = ({ normalization = "imagenet" }: Pick<TrainSettings, "normalization">): Colours =>
  normalizations[normalization];

type Hashed = Omit<TrainSettings, "hash" | "request" | "fixed" | "facts" | "base">;

function changesNumbers(settings: Hashed): Record<string, unknown> {
  const hashed: Record<string, unknown> = {};
  for (const name in settings) if (isHashed(name)) hashed[name] = settings[name as keyof Hashed];
  // A plug-in is identified by its content, whatever the name of its file.
  if (settings.plugins) hashed.plugins = settings.plugins.map(({ sha256 }) => sha256);
  // A setting that was renamed keeps its former name here, so that the names of runs do not change.
  hashed.averaging = settings.averaging.map((each) => ({
    ...each,
    settings: underFormerNames(Object.hasOwn(followers, each.id) ? followers[each.id].settings : {}, each.settings),
  }));
  return hashed;
}

/** The settings in which sibling runs of a sweep differ. */
export type Sibling = Pick<TrainSettings, "domains" | "testDomains" | "splitHash" | "seed">;

const SIBLING: readonly (keyof Sibling)[] = ["domains", "testDomains", "splitHash", "seed"];

/**
 * Names a run by the settings that change results, not by paths, device, threads or launcher; and names its siblings.
 * The canonical JSON is computed once, with marks in place of the values that differ, because a sweep needs the names
 * of hundreds of thousands of runs.
 */
export function siblingHash(settings: Hashed, known?: KnownTexts): (sibling: Sibling) => string {
  const marks = Object.fromEntries(SIBLING.map((name) => [name, `the ${name} of a sibling`]));
  const pieces = canonicalJson({ ...changesNumbers(settings), ...marks }, known).split(
    /"the (domains|testDomains|splitHash|seed) of a sibling"/,
  );
  return (sibling) => {
    let text = pieces[0];
    for (let i = 1; i < pieces.length; i += 2)
      text += canonicalJson(sibling[pieces[i] as keyof Sibling], known) + pieces[i + 1];
    return textHash(text);
  };
}

/** The name of a run's folder. */
export function runName({
  hash,
  dataset,
  testDomains,
  algorithm,
  regularizers,
  averaging,
  trialSeed,
  probe,
}: Pick<
  TrainSettings,
  "hash" | "dataset" | "testDomains" | "algorithm" | "regularizers" | "averaging" | "trialSeed" | "probe"
>): string {
  const plugins = [...averaging.map(({ id }) => id), algorithm, ...regularizers.map(({ id }) => id)];
  const method = probe === "exact" ? "exact-probe" : [...(probe ? ["probe"] : []), ...plugins].join("+");
  const words = [hash, dataset, testDomains.join("+") || "none", method, `trial${trialSeed}`];
  return words.map((word) => word.replace(/[^\w.+-]+/g, "_")).join("-");
}

/** The domains that a run trains on. */
export const trainDomainsOf = ({
  domains,
  testDomains,
}: Pick<TrainSettings, "domains" | "testDomains">): readonly string[] =>
  domains.filter((name) => !testDomains.includes(name));
