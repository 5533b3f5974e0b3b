/**
 * How the pictures of a run become the input of its network. The expected input depends on the weights, so own pictures are
 * preprocessed as in the publisher's evaluation of the weights. Benchmarks are preprocessed as in DomainBed, so that results are
 * comparable.
 */

import type { PublishedFraming } from "../backbones/published-weights.js";
import { weightsFacts } from "../backbones/weights-facts.js";
import type { Dataset } from "../data/dataset.js";
import { type Framing, framingAt, type Interpolation, type Scaling, scalingFor } from "../data/framing.js";
import type { FilledKeys, PreprocessingName, Request, Resize } from "../declared-settings/keys.js";
import { UsageError } from "../errors.js";
import type { TrainSettings } from "./settings.js";
import type { StartingWeights } from "./starting-weights.js";

export interface PreprocessingSettings {
  readonly preprocessing?: PreprocessingName;
  /** Height and width in training. */
  readonly size?: number;
  readonly resize?: Resize;
  readonly interpolation?: Interpolation;
}

type Given = Pick<FilledKeys, "preprocessing" | "size" | "resize" | "interpolation">;

/**
 * The given settings, completed with the values of the weights or of DomainBed. With DomainBed only differences are recorded, so
 * that runs of earlier versions, which had no choice, keep their names.
 */
export function preprocessingSettings(
  given: Given,
  { framing }: Pick<StartingWeights, "framing">,
  { dataset, isOwn }: { dataset: Dataset; isOwn: boolean },
): PreprocessingSettings {
  const { preprocessing = isOwn && framing ? "weights" : "domainbed", size, resize, interpolation } = given;
  if (dataset.kind !== "pictures") {
    const setting =
      preprocessing === "weights"
        ? "preprocessing"
        : [size && "size", resize && "resize", interpolation && "interpolation"].find(Boolean);
    if (!setting) return {};
    throw new UsageError(
      `${setting}: expected a dataset of picture files, which can be resized; ${dataset.id} has none`,
    );
  }
  if (preprocessing === "weights" && !framing)
    throw new UsageError("preprocessing=weights: the run starts from random weights; use preprocessing=domainbed");
  const own = dataset.inputShape[1];
  const base =
    preprocessing === "weights" ? framing! : { size: own, resize: "stretch" as const, interpolation: undefined };
  const side = size ?? base.size;
  const settled = {
    size: side,
    resize: resize ?? (base.resize === "stretch" ? "stretch" : Math.round((base.resize * side) / base.size)),
    interpolation: interpolation ?? base.interpolation,
  };
  if (settled.resize !== "stretch" && settled.resize < side)
    throw new UsageError(
      `resize=${settled.resize}: expected at least the size of the pictures, ${side}, which are cropped from the centre; or resize=stretch`,
    );
  if (preprocessing === "weights") return { preprocessing, ...settled };
  return {
    preprocessing,
    ...(side !== own && { size: side }),
    ...(settled.resize !== "stretch" && { resize: settled.resize }),
    ...(settled.interpolation && { interpolation: settled.interpolation }),
  };
}

type Framed = Pick<TrainSettings, "inputShape" | "evaluationSize" | "size" | "resize" | "interpolation">;

/** How pictures become squares of the training size. */
export const framingOf = ({ resize, interpolation }: Framed): Framing => ({
  ...(typeof resize === "number" && { resize }),
  ...(interpolation && { interpolation }),
});

/** The same for the size at evaluation. */
export const evaluationFraming = (settings: Framed): Framing =>
  framingAt(framingOf(settings), settings.inputShape[1], settings.evaluationSize ?? settings.inputShape[1]);

/** The settings with the evaluation size as the training size, for computations on evaluation pictures only. */
export function atEvaluation(settings: TrainSettings): TrainSettings {
  const { evaluationSize: size, ...rest } = settings;
  if (size === undefined) return settings;
  const { resize } = evaluationFraming(settings);
  return {
    ...rest,
    inputShape: [settings.inputShape[0], size, size],
    ...(rest.size !== undefined && { size }),
    ...(resize !== undefined && { resize }),
  };
}

/** How pictures are decoded, both for training and for evaluation. */
export function scalingOf(settings: Framed): Scaling {
  const { inputShape, size, evaluationSize } = settings;
  const training = scalingFor(framingOf(settings), size ?? 224);
  if (evaluationSize === undefined || (size === undefined && settings.resize === undefined)) return training;
  const evaluated = scalingFor(evaluationFraming(settings), evaluationSize);
  return inputShape[1] > evaluationSize ? training : evaluated;
}

/**
 * The request of a run with an explicit preprocessing and rule for near-duplicates. Earlier versions had no choice and
 * recorded none.
 */
export const recordedRequest = <R extends Request>(request: R): R => ({
  preprocessing: "domainbed",
  nearDuplicates: "ignore",
  ...request,
});

/**
 * The preprocessing as text: how pictures are prepared at evaluation, and whether the publisher of the weights does the same
 * (`published`, if it is known). Undefined for the preprocessing of DomainBed on a benchmark, and for arrays.
 */
export function preprocessingWords(
  settings: Framed & Pick<TrainSettings, "preprocessing">,
  { isOwn, published }: { isOwn: boolean; published?: PublishedFraming },
): string | undefined {
  const { preprocessing, resize, interpolation = "bilinear", size, evaluationSize, inputShape } = settings;
  const isDomainBed = [resize, settings.interpolation, size, evaluationSize].every((each) => each === undefined);
  if (preprocessing === undefined || (isDomainBed && !isOwn)) return undefined;
  const short = evaluationFraming(settings).resize ?? "stretch";
  const how = framingWords({ size: evaluationSize ?? inputShape[1], resize: short, interpolation });
  const usual = published && framingWords(published);
  const why = isDomainBed
    ? ", as in DomainBed"
    : preprocessing === "domainbed" || usual === undefined
      ? ""
      : usual === how
        ? ", as the publisher of the weights evaluates them"
        : `; the publisher of the weights evaluates with: ${usual}`;
  return `pictures at evaluation: ${how}${why}`;
}

const framingWords = ({ size, resize, interpolation }: PublishedFraming): string =>
  `${resize === "stretch" ? "the whole picture resized" : `short side resized to ${resize}, centre cropped`} to ${size} × ${size} (${interpolation})`;

/** How the publisher of the initial weights prepares pictures for evaluation; undefined without weights that can be read. */
export function publishedFramingOf({
  weights,
  weightsHash,
}: Pick<TrainSettings, "weights" | "weightsHash">): PublishedFraming | undefined {
  if (weights === null) return undefined;
  try {
    return weightsFacts(weights, weightsHash ?? undefined).framing;
  } catch {
    return undefined;
  }
}
