/**
 * Parses the metadata of a model file. A model can come from anyone, so nothing in it is trusted: types, ranges and
 * consistency are checked here, and the shapes of the tensors when the network is built (network.ts).
 */

import { LEAST_TEMPERATURE, MOST_TEMPERATURE } from "../analysis/temperature.js";
import type { NetworkVariant } from "../backbones/backbone.js";
import { defaultShortSide } from "../data/decode.js";
import type { Interpolation } from "../data/framing.js";
import type { WeightsFile } from "../engine/stored-tensor.js";
import { DataError } from "../errors.js";
import type { GeluKind } from "../nn/activation.js";
import { POSITION_RULES } from "../nn/position-embedding.js";
import {
  type CalibrationFacts,
  type HeldOutFacts,
  METADATA_KEY,
  MODEL_FORMAT,
  type ModelAbout,
  type PredictionPath,
  type Preprocessing,
  type StartingWeights,
  type StoredBackboneOptions,
} from "./about.js";
import { StoredFacts } from "./stored-facts.js";

/** The largest accepted picture side and vector length. */
const LARGEST_SIDE = 2048;
const LONGEST_VECTOR = 2 ** 24;

/** The metadata of an open file, checked. */
export function readAbout(file: Pick<WeightsFile, "path" | "metadata">): ModelAbout {
  const text = file.metadata[METADATA_KEY];
  if (text === undefined)
    throw new DataError(
      `${file.path}: this file contains weights but no metadata, so it is not a model written by nudge train (use nudge train --weights for initial weights)`,
    );
  const facts = StoredFacts.parse(file.path, METADATA_KEY, text);
  const format = facts.whole("format", 1, Number.MAX_SAFE_INTEGER);
  if (format > MODEL_FORMAT)
    throw new DataError(
      `${file.path}: the model has format ${format}, but this version reads formats up to ${MODEL_FORMAT}; install a newer version`,
    );
  if (facts.has("next"))
    throw new DataError(`${file.path}: this is a checkpoint and not a model; use model.safetensors of the run`);
  const settings = facts.object("settings");
  const domains = format === 1 ? trainedOn(settings) : facts.names("domains", { least: 1 });
  return {
    format,
    model: facts.text("model"),
    step: facts.whole("step", 0, Number.MAX_SAFE_INTEGER),
    backbone: facts.text("backbone"),
    backboneOptions: format === 1 ? optionsOfFormat1(facts) : backboneOptions(facts.object("backboneOptions")),
    width: facts.whole("width", 1, LONGEST_VECTOR),
    classes: facts.names("classes", { least: 1 }),
    dataset: format === 1 ? settings.text("dataset") : facts.text("dataset"),
    domains,
    testDomains: format === 1 ? settings.names("testDomains") : facts.names("testDomains"),
    preprocessing: format === 1 ? preprocessingOfFormat1(facts) : preprocessing(facts.object("preprocessing")),
    prediction: format === 1 ? predictionOfFormat1(settings, domains.length) : prediction(facts.object("prediction")),
    modules: facts.names("modules", { least: 1, most: 100 }),
    startingWeights: facts.has("startingWeights") ? startingWeights(facts.object("startingWeights")) : null,
    distance: facts.has("distance") ? distanceFacts(facts.object("distance")) : null,
    calibration: facts.has("calibration") ? calibrationFacts(facts.object("calibration")) : null,
    settings: settings.all,
  };
}

const isSize = (value: number): boolean => Number.isSafeInteger(value) && value > 0;

/** [channels, height, width] or [numbers]. */
function inputShape(facts: StoredFacts): readonly number[] {
  const shape = facts.numbers("inputShape", [1, 3], isSize);
  const fits =
    shape.length === 3 ? Math.max(...shape) <= LARGEST_SIDE : shape.length === 1 && shape[0] <= LONGEST_VECTOR;
  if (!fits) throw facts.wrong("inputShape", `[channels, height, width] up to ${LARGEST_SIDE}, or [numbers]`);
  return shape;
}

function backboneOptions(facts: StoredFacts): StoredBackboneOptions {
  return {
    inputShape: inputShape(facts),
    dropout: facts.number("dropout", 0, 1),
    batchNorm: facts.oneOf("batchNorm", ["frozen", "trained"]),
    ...(facts.has("width") && { width: facts.whole("width", 1, LONGEST_VECTOR) }),
    ...(facts.has("depth") && { depth: facts.whole("depth", 2, 1000) }),
    ...(facts.has("variant") && { variant: networkVariant(facts.object("variant")) }),
    ...(facts.has("probe") && { probe: facts.truth("probe") }),
  };
}

const networkVariant = (facts: StoredFacts): NetworkVariant => ({
  ...(facts.has("eps") && { eps: facts.number("eps", 0, 1) }),
  ...(facts.has("gelu") && { gelu: facts.oneOf<GeluKind>("gelu", ["exact", "tanh", "quick"]) }),
  ...(facts.has("positions") && { positions: facts.oneOf("positions", POSITION_RULES) }),
});

function preprocessing(facts: StoredFacts): Preprocessing {
  const shape = inputShape(facts);
  if (facts.oneOf("kind", ["pictures", "arrays"]) === "arrays") return { kind: "arrays", inputShape: shape };
  checkPictureShape(facts, shape);
  return {
    kind: "pictures",
    inputShape: shape,
    shortSide: facts.whole("shortSide", 1, LARGEST_SIDE),
    ...(facts.has("resize") && { resize: facts.whole("resize", shape[1], LARGEST_SIDE) }),
    ...(facts.has("interpolation") && {
      interpolation: facts.oneOf<Interpolation>("interpolation", ["bilinear", "bicubic"]),
    }),
    ...colours(facts),
  };
}

function checkPictureShape(facts: StoredFacts, [channels, height, width]: readonly number[]): void {
  if (channels !== 3 || height !== width) throw facts.wrong("inputShape", "a square of three channels for pictures");
}

const colours = (facts: StoredFacts) => ({
  mean: facts.numbers("mean", [3, 3], Number.isFinite),
  std: facts.numbers("std", [3, 3], (value) => value > 0 && Number.isFinite(value)),
});

function prediction(facts: StoredFacts): PredictionPath {
  const isPlain = facts.oneOf("kind", ["plain", "algorithm"]) === "plain";
  const classifier = facts.oneOf(
    "classifier",
    isPlain ? ["linear", "nonlinear", "neighbours"] : ["linear", "nonlinear"],
  );
  if (isPlain)
    return { kind: "plain", classifier, ...(classifier === "neighbours" && { stored: facts.whole("stored", 1, 1e6) }) };
  return {
    ...{ kind: "algorithm", classifier, id: facts.text("id"), hparams: facts.scalars("hparams") },
    domains: facts.whole("domains", 1, 100_000),
    ...(facts.has("byBatch") && { byBatch: facts.truth("byBatch") }),
  };
}

function startingWeights(facts: StoredFacts): StartingWeights {
  const metadata = facts.has("metadata") ? facts.scalars("metadata") : {};
  return {
    hash: facts.has("hash") ? facts.text("hash") : null,
    licence: facts.has("licence") ? facts.text("licence") : null,
    metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, String(value)])),
  };
}

function distanceFacts(facts: StoredFacts): { fitted: number; compared: number } {
  const count = (key: string) => facts.whole(key, 1, Number.MAX_SAFE_INTEGER);
  return { fitted: count("fitted"), compared: count("compared") };
}

function calibrationFacts(facts: StoredFacts): CalibrationFacts {
  const isShare = (value: number): boolean => value >= 0 && value <= 1;
  return {
    temperature: facts.number("temperature", LEAST_TEMPERATURE / 2, MOST_TEMPERATURE * 2),
    count: facts.whole("count", 1, Number.MAX_SAFE_INTEGER),
    quantiles: facts.numbers("quantiles", [0, 10_000], isShare),
    ...(facts.has("heldOut") && { heldOut: heldOutFacts(facts.object("heldOut"), isShare) }),
  };
}

const heldOutFacts = (facts: StoredFacts, isShare: (value: number) => boolean): HeldOutFacts => ({
  domains: facts.names("domains", { least: 1 }),
  thresholds: facts.numbers("thresholds", [1, 1000], isShare),
  errors: facts.numbers("errors", [0, 1000], (value) => Math.abs(value) <= 1),
  calibrationError: facts.number("calibrationError", 0, 1),
  percentiles: facts.numbers("percentiles", [0, 10_000], (value) => value >= 0 && value <= 100),
});

// Files of format 1 have in their settings what later formats store explicitly.

function trainedOn(settings: StoredFacts): readonly string[] {
  const held = settings.names("testDomains");
  return settings.names("domains", { least: 1 }).filter((name) => !held.includes(name));
}

function optionsOfFormat1(facts: StoredFacts): StoredBackboneOptions {
  const settings = facts.object("settings");
  const hparams = settings.scalars("hparams");
  const shape = [...inputShape(facts.object("preprocessing"))];
  if (settings.text("algorithm") === "arm") shape[0]++; // only its backbone had an additional channel
  const batchNorm = hparams.freezeBatchNorm === true ? "frozen" : "trained";
  return { inputShape: shape, dropout: 0, batchNorm }; // dropout is inactive in predictions
}

function preprocessingOfFormat1(facts: StoredFacts): Preprocessing {
  const stored = facts.object("preprocessing");
  const shape = inputShape(stored);
  if (!stored.has("mean")) return { kind: "arrays", inputShape: shape };
  checkPictureShape(stored, shape);
  return { kind: "pictures", inputShape: shape, shortSide: defaultShortSide, ...colours(stored) };
}

function predictionOfFormat1(settings: StoredFacts, domains: number): PredictionPath {
  const hparams = settings.scalars("hparams");
  const classifier = hparams.nonlinearClassifier === true ? "nonlinear" : "linear";
  return { kind: "algorithm", classifier, id: settings.text("algorithm"), hparams, domains };
}
