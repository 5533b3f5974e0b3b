/** The settings of a run, resolved: what `settings.json` holds, and what of it names the run. */

import type { NetworkVariant } from "../backbones/backbone.js";
import { type Colours, type Normalization, normalizations } from "../data/normalization.js";
import type { PluginFile } from "../definitions.js";
import { canonicalJson, type KnownTexts, textHash } from "../files/canonical-json.js";
import type { Precision } from "../nn/precision.js";
import type { PluginSettings, RunSettings, SettingScalar } from "../records/run.js";
import type { ProtocolName } from "./protocols.js";

/** The settings in full; with the files they name, they determine every record of a run on the CPU. */
export interface TrainSettings extends RunSettings {
  /** Of this file. */
  readonly format: 1;
  /** 16 hexadecimal digits with which the run folder's name begins. */
  readonly hash: string;
  /** As it was given: a name or a path. */
  readonly data: string;
  readonly root: string | null;
  readonly cache: string | null;
  readonly datasetOptions: Readonly<Record<string, SettingScalar>>;
  readonly splitHash: string;
  /** Of pictures of one's own, a plug-in's among them, their fingerprint; absent for benchmarks, whose counts are published. */
  readonly pictures?: string;
  readonly classes: readonly string[];
  readonly inputShape: readonly number[];
  readonly backbone: string;
  readonly pretrained: boolean;
  /** The file of starting weights, and the SHA-256 of its bytes (16 digits); null without one. */
  readonly weights: string | null;
  readonly weightsHash: string | null;
  /** What pictures are normalized with; absent where it is ImageNet's mean and deviation. */
  readonly normalization?: Normalization;
  /** As given; absent where the weights say it. */
  readonly activation?: "exact" | "quick";
  /** What the publisher of the weights chose and no tensor shows; absent where it is the backbone's own choice. */
  readonly variant?: NetworkVariant;
  /** Whether the backbone is frozen and a linear map on its features trained: by stochastic gradients (`true`), or exactly. */
  readonly probe?: true | "exact";
  /** The exact probe's strength, of a probe or of the classifier that a run starts from. */
  readonly probeC?: number | "auto";
  /** Whether the classifier starts as the exact probe, or so many updates that move it alone. */
  readonly headFirst?: true | number;
  readonly refit?: true;
  /** Absent where all pictures of held-out domains are evaluated. */
  readonly testPictures?: number;
  /** The supports of each class that T3A keeps, −1 for all; absent where it is not evaluated. */
  readonly t3a?: number;
  /** Absent where pictures are evaluated in the size they are trained in. */
  readonly evaluationSize?: number;
  /** Whose protocol settled what was not given; runs from before there were two are DomainBed's. */
  readonly protocol: ProtocolName;
  /** The plug-ins that the run's parts came from; absent where all are this program's. */
  readonly plugins?: readonly PluginFile[];
  /** What makes the steps; absent where it is Adam, as in runs from before there was any choice. So are those below where they are as usual. */
  readonly optimizer?: PluginSettings;
  readonly schedule?: PluginSettings;
  readonly warmupSteps?: number;
  readonly clipNorm?: number;
  readonly headLr?: number;
  /** Evaluations without a better validation accuracy after which the run stops. */
  readonly patience?: number;
  readonly steps: number;
  readonly evaluateEvery: number;
  readonly evaluateFirst: boolean;
  readonly evaluateTraining: boolean;
  /** Absent where only features are measured, as from before there was any choice. */
  readonly measures?: "all";
  readonly checkpointEvery: number;
  readonly holdout: number;
  readonly augmentValidation: boolean;
  readonly batchNormBatches: number;
  readonly device: string;
  readonly precision: Precision;
  readonly threads: number;
  /** What makes this run again, whatever the defaults are then: every key that `nudge train` takes. */
  readonly request: Readonly<Record<string, SettingScalar | readonly string[]>>;
}

/** The shape of a sample that is evaluated, and of the model's input. */
export function evaluationShape({
  inputShape,
  evaluationSize,
}: Pick<TrainSettings, "inputShape" | "evaluationSize">): readonly number[] {
  return evaluationSize === undefined ? inputShape : [inputShape[0], evaluationSize, evaluationSize];
}

/** What a run's pictures are normalized with. */
export const coloursOf = ({ normalization = "imagenet" }: Pick<TrainSettings, "normalization">): Colours =>
  normalizations[normalization];

/** What says where and how a run is made, and not which numbers come out. */
const NOT_HASHED: ReadonlySet<string> = new Set<keyof TrainSettings>([
  "data",
  "root",
  "cache",
  "weights",
  "device",
  "threads",
  "fixed",
  "protocol", // what it settles is hashed
  "checkpointEvery",
  "format",
  "hash",
  "request",
]);

type Hashed = Omit<TrainSettings, "hash" | "request" | "fixed">;

function changesNumbers(settings: Hashed): Record<string, unknown> {
  const hashed: Record<string, unknown> = {};
  for (const name in settings) if (!NOT_HASHED.has(name)) hashed[name] = settings[name as keyof Hashed];
  // A plug-in is its content, whatever its file is called.
  if (settings.plugins) hashed.plugins = settings.plugins.map(({ sha256 }) => sha256);
  return hashed;
}

/** What runs of a sweep differ in that are alike in all else. */
export type Sibling = Pick<TrainSettings, "testDomains" | "splitHash" | "seed">;

const SIBLING: readonly (keyof Sibling)[] = ["testDomains", "splitHash", "seed"];

/**
 * Names a run by what changes numbers, and not by paths, device, threads or launcher; and any other that is like it but for
 * what siblings differ in. The canonical JSON is made once, with marks in the places of those values, since a sweep asks for
 * the names of hundreds of thousands.
 */
export function siblingHash(settings: Hashed, known?: KnownTexts): (sibling: Sibling) => string {
  const marks = Object.fromEntries(SIBLING.map((name) => [name, `the ${name} of a sibling`]));
  const pieces = canonicalJson({ ...changesNumbers(settings), ...marks }, known).split(
    /"the (testDomains|splitHash|seed) of a sibling"/,
  );
  return (sibling) => {
    let text = pieces[0];
    for (let i = 1; i < pieces.length; i += 2)
      text += canonicalJson(sibling[pieces[i] as keyof Sibling]) + pieces[i + 1];
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
