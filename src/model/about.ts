/**
 * What a model file says of itself, in its one metadata key. With it and the tensors beside it, a model can be used without
 * the run, the dataset or the settings it came from.
 */

import type { NetworkVariant } from "../backbones/backbone.js";
import type { SettingScalar } from "../records/run.js";

/** The metadata key all files of ours have. */
export const METADATA_KEY = "nudge";

/** The format that is written; 1, of earlier versions, is read too. */
export const MODEL_FORMAT = 2;

/** How a backbone is built: what `BackboneOptions` of it the file keeps. */
export interface StoredBackboneOptions {
  /** With the further channels that an algorithm asked for. */
  readonly inputShape: readonly number[];
  readonly dropout: number;
  readonly batchNorm: "frozen" | "trained";
  readonly width?: number;
  readonly depth?: number;
  /** What the publisher of the starting weights chose; absent where it is the backbone's own choice. */
  readonly variant?: NetworkVariant;
  /** Whether the network is frozen and a trained linear map stands on it. */
  readonly probe?: boolean;
}

/** What happens to a sample before the network sees it: the same as in the evaluations of its training. */
export type Preprocessing =
  | {
      /** Pictures: scaled down to a short side, resized to exactly the input's size (bilinear, antialias), normalised. */
      readonly kind: "pictures";
      /** Channels, height, width. */
      readonly inputShape: readonly number[];
      readonly shortSide: number;
      /** Of red, green and blue, where 255 is 1. */
      readonly mean: readonly number[];
      readonly std: readonly number[];
    }
  /** Numbers as they are. */
  | { readonly kind: "arrays"; readonly inputShape: readonly number[] };

/** From features to logits: one linear layer, or the reference's three. */
export type ClassifierKind = "linear" | "nonlinear";

/** How logits come about. */
export type PredictionPath =
  /** The classifier on the backbone's features, whatever algorithm trained them. */
  | { readonly kind: "plain"; readonly classifier: ClassifierKind }
  /** By an algorithm's own way, from modules of its own. */
  | {
      readonly kind: "algorithm";
      readonly classifier: ClassifierKind;
      readonly id: string;
      readonly hparams: Readonly<Record<string, SettingScalar>>;
      /** How many training domains it was built for. */
      readonly domains: number;
    };

/** Where the backbone's starting values came from. */
export interface StartingWeights {
  /** 16 hexadecimal digits of the file's SHA-256. */
  readonly hash: string | null;
  /** As the file itself says it; null where it says none. */
  readonly licence: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** How many pictures the score of distance was made from; its tensors are in the file. */
export interface DistanceFacts {
  /** Pictures that were trained on. */
  readonly fitted: number;
  /** Pictures of the same domains that were held back, with which a distance is compared. */
  readonly compared: number;
}

/** How sure the model is of held-back pictures of its training domains. */
export interface CalibrationFacts {
  /** Probabilities are softmax(logits / temperature). */
  readonly temperature: number;
  /** The held-back pictures it comes from. */
  readonly count: number;
  /** Quantiles of the probability of those it is right about, evenly spaced from the least to the most; none of none. */
  readonly quantiles: readonly number[];
}

/** All a model file says of itself. */
export interface ModelAbout {
  readonly format: number;
  /** `current`, or the id of the follower whose average of the weights it is. */
  readonly model: string;
  /** The last update that is in it. */
  readonly step: number;
  readonly backbone: string;
  readonly backboneOptions: StoredBackboneOptions;
  /** The number of features. */
  readonly width: number;
  readonly classes: readonly string[];
  readonly dataset: string;
  /** The domains it was trained on, and those it was not shown. */
  readonly domains: readonly string[];
  readonly testDomains: readonly string[];
  readonly preprocessing: Preprocessing;
  readonly prediction: PredictionPath;
  /** The modules whose tensors are in the file. */
  readonly modules: readonly string[];
  readonly startingWeights: StartingWeights | null;
  /** Null in files of earlier versions, and where there were too few pictures. */
  readonly distance: DistanceFacts | null;
  /** Null in files of earlier versions, whose probabilities are softmax(logits), and where no picture was held back. */
  readonly calibration: CalibrationFacts | null;
  /** The settings of the run, without what is of its machine. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** What logits are divided by before they become probabilities. */
export const temperatureOf = ({ calibration }: Pick<ModelAbout, "calibration">): number =>
  calibration?.temperature ?? 1;

/**
 * Whether what a model says of a picture depends on the others of its batch: ARM adapts to the pictures it is given, and MTL
 * looks at their mean, or at noise.
 */
export const dependsOnBatch = ({ prediction }: ModelAbout): boolean =>
  prediction.kind === "algorithm" && ["arm", "mtl"].includes(prediction.id);
