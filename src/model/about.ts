/**
 * The metadata of a model file, in its one metadata key. With it and the tensors, a model can be used without the run,
 * the dataset or the settings it came from.
 */

import type { SiteEvidence } from "../analysis/site-accuracy.js";
import type { NetworkVariant } from "../backbones/backbone.js";
import type { Interpolation } from "../data/framing.js";
import type { SettingScalar } from "../records/run.js";

/** The metadata key of all files of this program. */
export const METADATA_KEY = "nudge";

/** The latest format. Formats 1 to 3, of earlier versions, are read too. */
export const MODEL_FORMAT = 4;

/** The format that is written: the earliest that can express the model, so that earlier versions can read the file too. */
export function formatFor({ preprocessing, prediction }: Pick<ModelAbout, "preprocessing" | "prediction">): number {
  if (prediction.classifier === "neighbours") return MODEL_FORMAT;
  return preprocessing.kind === "pictures" &&
    (preprocessing.resize !== undefined || preprocessing.interpolation !== undefined)
    ? 3
    : 2;
}

/** How the backbone is built: the part of `BackboneOptions` that the file stores. */
export interface StoredBackboneOptions {
  /** Including additional channels that an algorithm requires. */
  readonly inputShape: readonly number[];
  readonly dropout: number;
  readonly batchNorm: "frozen" | "trained";
  readonly width?: number;
  readonly depth?: number;
  /** What the publisher of the starting weights chose; absent if it is the default of the backbone. */
  readonly variant?: NetworkVariant;
  /** Whether the network is frozen, with a trained linear classifier on its features. */
  readonly probe?: boolean;
}

/** The preprocessing of a sample: the same as in the evaluations during training. */
export type Preprocessing =
  | {
      /** Pictures: scaled down to a short side, resized to the input size or cropped to it (antialias), normalised. */
      readonly kind: "pictures";
      /** Channels, height, width. */
      readonly inputShape: readonly number[];
      readonly shortSide: number;
      /** The short side that is resized to before the centre is cropped; absent if the whole picture is resized. */
      readonly resize?: number;
      /** The interpolation of every resize, including the one while decoding. If absent, bilinear, with a Lanczos filter while decoding. */
      readonly interpolation?: Interpolation;
      /** For red, green and blue, in units in which 255 is 1. */
      readonly mean: readonly number[];
      readonly std: readonly number[];
    }
  /** Arrays, unchanged. */
  | { readonly kind: "arrays"; readonly inputShape: readonly number[] };

/** From features to logits: one linear layer, DomainBed's three layers, or the mean of one linear layer and a vote of stored pictures. */
export type ClassifierKind = "linear" | "nonlinear" | "neighbours";

/** How logits are computed. */
export type PredictionPath =
  /** The classifier on the features of the backbone, whatever algorithm trained them. */
  | {
      readonly kind: "plain";
      readonly classifier: ClassifierKind;
      /** The number of pictures that the classifier `neighbours` stores. */
      readonly stored?: number;
    }
  /** By an algorithm's own prediction, with its own modules. */
  | {
      readonly kind: "algorithm";
      readonly classifier: ClassifierKind;
      readonly id: string;
      readonly hparams: Readonly<Record<string, SettingScalar>>;
      /** The number of training domains it was built for. */
      readonly domains: number;
      /** True if the prediction for a picture depends on the others in its batch. Absent in files of earlier versions. */
      readonly byBatch?: boolean;
    };

/** The source of the backbone's initial weights. */
export interface StartingWeights {
  /** The first 16 hexadecimal digits of the file's SHA-256. */
  readonly hash: string | null;
  /** As stated in the file; null if it states none. */
  readonly licence: string | null;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The number of pictures behind the distance score, whose tensors are in the file. */
export interface DistanceFacts {
  /** The number of training pictures. */
  readonly fitted: number;
  /** The number of validation pictures of the same domains, with which distances are compared. */
  readonly compared: number;
}

/** What held-out domains say about the confidence of a model on a new domain. */
export interface HeldOutFacts extends SiteEvidence {
  readonly domains: readonly string[];
  /** The mean calibration error on them. */
  readonly calibrationError: number;
  /** Evenly spaced quantiles of the distance percentile of correctly predicted pictures of them; empty if there is no distance score. */
  readonly percentiles: readonly number[];
}

/** The confidence of the model on validation pictures of its training domains, or on held-out domains. */
export interface CalibrationFacts {
  /** Probabilities are softmax(logits / temperature). */
  readonly temperature: number;
  /** The number of validation pictures it was fitted on, or of pictures of held-out domains. */
  readonly count: number;
  /**
   * Evenly spaced quantiles, from minimum to maximum, of the probability of correct predictions; empty if there are
   * none.
   */
  readonly quantiles: readonly number[];
  /** Absent if everything is from validation pictures of the training domains. */
  readonly heldOut?: HeldOutFacts;
}

/** The complete metadata of a model file. */
export interface ModelAbout {
  readonly format: number;
  /** `current`, or the id of the follower whose weight average it is. */
  readonly model: string;
  /** The last update that it contains. */
  readonly step: number;
  readonly backbone: string;
  readonly backboneOptions: StoredBackboneOptions;
  /** The number of features. */
  readonly width: number;
  readonly classes: readonly string[];
  readonly dataset: string;
  /** The training domains and the held-out domains. */
  readonly domains: readonly string[];
  readonly testDomains: readonly string[];
  readonly preprocessing: Preprocessing;
  readonly prediction: PredictionPath;
  /** The modules whose tensors are in the file. */
  readonly modules: readonly string[];
  readonly startingWeights: StartingWeights | null;
  /** Null in files of earlier versions, and if there were too few pictures. */
  readonly distance: DistanceFacts | null;
  /** Null in files of earlier versions, whose probabilities are softmax(logits), and if no picture was held out. */
  readonly calibration: CalibrationFacts | null;
  /** The settings of the run, without those of its machine. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** The temperature by which logits are divided before the softmax. */
export const temperatureOf = ({ calibration }: Pick<ModelAbout, "calibration">): number =>
  calibration?.temperature ?? 1;

/**
 * Whether the prediction for a picture depends on the other pictures in its batch: ARM adapts to the batch, and MTL
 * uses its mean, or noise.
 */
export const dependsOnBatch = ({ prediction }: ModelAbout): boolean =>
  prediction.kind === "algorithm" && (prediction.byBatch === true || ["arm", "mtl"].includes(prediction.id));
