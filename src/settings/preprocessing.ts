/**
 * How the pictures of a run become the input of its network. What a network expects belongs to its weights, so own pictures are
 * prepared as the weights were evaluated by their publisher; benchmarks are prepared as in DomainBed, so that numbers compare.
 */

import type { Dataset } from "../data/dataset.js";
import { type Framing, framingAt, type Interpolation, type Scaling, scalingFor } from "../data/framing.js";
import { UsageError } from "../errors.js";
import type { FilledKeys, Request } from "./keys.js";
import type { TrainSettings } from "./settings.js";
import type { StartingWeights } from "./starting-weights.js";

/** Where the defaults of size, resize and interpolation come from. */
export type PreprocessingName = "weights" | "domainbed";

/** The short side that is resized to before the centre is cropped, or that the whole picture is resized whatever its shape. */
export type Resize = number | "stretch";

export interface PreprocessingSettings {
  readonly preprocessing?: PreprocessingName;
  /** Height and width in training. */
  readonly size?: number;
  readonly resize?: Resize;
  readonly interpolation?: Interpolation;
}

type Given = Pick<FilledKeys, "preprocessing" | "size" | "resize" | "interpolation">;

/**
 * What is asked for, on the values of the weights or of DomainBed. With the latter only what differs from them is recorded, so
 * that runs from before there was a choice keep their names.
 */
export function preprocessingSettings(
  given: Given,
  { framing }: StartingWeights,
  { dataset, isOwn }: { dataset: Dataset; isOwn: boolean },
): PreprocessingSettings {
  const { preprocessing = isOwn && framing ? "weights" : "domainbed", size, resize, interpolation } = given;
  if (dataset.kind !== "pictures") {
    const asked =
      preprocessing === "weights"
        ? "preprocessing"
        : [size && "size", resize && "resize", interpolation && "interpolation"].find(Boolean);
    if (!asked) return {};
    throw new UsageError(`${asked}: expected a dataset of picture files, which can be resized; ${dataset.id} has none`);
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

/** How pictures become squares of the size of training. */
export const framingOf = ({ resize, interpolation }: Framed): Framing => ({
  ...(typeof resize === "number" && { resize }),
  ...(interpolation && { interpolation }),
});

/** The same at evaluation. */
export const evaluationFraming = (settings: Framed): Framing =>
  framingAt(framingOf(settings), settings.inputShape[1], settings.evaluationSize ?? settings.inputShape[1]);

/** Settings whose size in training is that of evaluation, for what is computed of evaluated pictures alone. */
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

/** How pictures are decoded, for training and evaluation alike. */
export function scalingOf(settings: Framed): Scaling {
  const { inputShape, size, evaluationSize } = settings;
  const training = scalingFor(framingOf(settings), size ?? 224);
  if (evaluationSize === undefined || (size === undefined && settings.resize === undefined)) return training;
  const evaluated = scalingFor(evaluationFraming(settings), evaluationSize);
  return inputShape[1] > evaluationSize ? training : evaluated;
}

/** A request that an earlier version recorded, before there was a choice, with what it meant. */
export const recordedRequest = <R extends Request>(request: R): R =>
  "preprocessing" in request ? request : { preprocessing: "domainbed", ...request };

/** How pictures are prepared, in words; none for pictures that are prepared as in DomainBed. */
export function preprocessingWords(settings: Framed & Pick<TrainSettings, "preprocessing">): string | undefined {
  const { resize, interpolation, size } = settings;
  if (resize === undefined && interpolation === undefined && size === undefined) return undefined;
  const side = settings.evaluationSize ?? settings.inputShape[1];
  const short = evaluationFraming(settings).resize;
  const how = short === undefined ? "the whole picture resized" : `short side resized to ${short}, centre cropped`;
  const why = settings.preprocessing === "weights" ? ", as the publisher of the weights evaluates them" : "";
  return `pictures at evaluation: ${how} to ${side} × ${side} (${interpolation ?? "bilinear"})${why}`;
}
