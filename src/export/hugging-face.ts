/**
 * Exports a model as a folder for Hugging Face's hub: `config.json`, `preprocessor_config.json`, `onnx/model.onnx` for
 * transformers.js, `model.safetensors` for transformers in Python, and a card with metadata. The logits are divided by
 * the temperature, so that their softmax gives the probabilities of `nudge predict`.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { scope } from "../engine/scope.js";
import { noGrad } from "../engine/tensor.js";
import { writeWeights } from "../engine/weights.js";
import { UsageError } from "../errors.js";
import { type ModelAbout, temperatureOf } from "../model/about.js";
import type { Model } from "../model/index.js";
import { exportOnnx } from "./export-onnx.js";
import { frontMatter } from "./front-matter.js";
import { familyOf, type HuggingFaceFamily, KNOWN_FAMILIES } from "./hugging-face-families.js";
import { knownAccuracies, modelCard } from "./model-card.js";
import { makeFolder } from "./new-folder.js";
import { bodyOf, plainNetwork, whyNotPlain, withCounters } from "./plain-network.js";

export interface HuggingFaceOptions {
  /** The version of NUDGE, for the card and the metadata. */
  version?: string;
}

/** The files in a folder for the hub, relative to it. */
export interface HuggingFaceFiles {
  readonly folder: string;
  readonly files: readonly string[];
  /** Why there is no `model.safetensors`; undefined if there is one. */
  readonly onlyOnnx?: string;
}

/** Writes the folder, which must not exist or be empty. On failure nothing is left. */
export function exportHuggingFace(
  model: Model,
  path: string,
  { version = "" }: HuggingFaceOptions = {},
): HuggingFaceFiles {
  const { about } = model;
  const family = checkExpressible(model);
  let onlyOnnx: string | undefined;
  const files = makeFolder(path, (folder) => {
    const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);
    mkdirSync(join(folder, "onnx"));
    exportOnnx(model, join(folder, "onnx/model.onnx"), { version, inputName: "pixel_values", calibratedOnly: true });
    onlyOnnx = scope(() => writeTensors(model, family, join(folder, "model.safetensors")));
    put("config.json", json(scope(() => configOf(model, family))));
    put("preprocessor_config.json", json(preprocessorOf(about)));
    const known = knownAccuracies(model.path, about);
    const file = basename(resolve(path));
    const card = modelCard({ about, file, format: "hugging-face", input: "normalised", known, version });
    put("README.md", `${frontMatter(about, known)}${card}`);
  });
  return { folder: path, files, ...(onlyOnnx && { onlyOnnx }) };
}

/** Returns the family of the model, or throws an error that says what the format cannot express. */
function checkExpressible({ path, about }: Model): HuggingFaceFamily {
  const { backbone, preprocessing } = about;
  const family = familyOf(backbone);
  if (preprocessing.kind !== "pictures")
    throw new UsageError(`export of ${path}: the model takes no pictures, so Hugging Face has no class for it`);
  if (!family)
    throw new UsageError(
      `export of ${path}: Hugging Face's transformers has no ${backbone}; expected one of ${KNOWN_FAMILIES}. Take --format onnx instead`,
    );
  return family;
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

function configOf({ about, network }: Model, family: HuggingFaceFamily): Record<string, unknown> {
  const { classes } = about;
  return {
    model_type: family.modelType,
    architectures: [family.architecture],
    ...family.config(bodyOf(network.modules.backbone.stateDict()), about),
    num_labels: classes.length,
    id2label: Object.fromEntries(classes.map((name, i) => [i, name])),
    label2id: Object.fromEntries(classes.map((name, i) => [name, i])),
    problem_type: "single_label_classification",
    torch_dtype: "float32",
  };
}

/** How pictures become the input. Names and numbers are those of Hugging Face's image processors. */
function preprocessorOf({ preprocessing }: ModelAbout): Record<string, unknown> {
  if (preprocessing.kind !== "pictures") return {};
  const { inputShape, resize, interpolation, mean, std } = preprocessing;
  const [, height, width] = inputShape;
  return {
    // BitImageProcessor takes the settings as they are; ConvNextImageProcessor would read the short side as the size of the crop.
    image_processor_type: resize === undefined ? "ViTImageProcessor" : "BitImageProcessor",
    do_convert_rgb: true,
    do_resize: true,
    size: resize === undefined ? { height, width } : { shortest_edge: resize },
    resample: interpolation === "bicubic" ? 3 : 2,
    do_center_crop: resize !== undefined,
    ...(resize !== undefined && { crop_size: { height, width } }),
    do_rescale: true,
    rescale_factor: 1 / 255,
    do_normalize: true,
    image_mean: mean,
    image_std: std,
  };
}

/** Writes the tensors, or returns the reason why Python's classes cannot express the model. */
function writeTensors(model: Model, family: HuggingFaceFamily, path: string): string | undefined {
  const { about } = model;
  if (!family.tensors) return `${family.architecture} of Python computes something else than ${about.backbone}`;
  const problem = whyNotPlain(model);
  if (problem) return problem;
  const tensors = noGrad(() => withCounters(family.tensors!(plainNetwork(model, temperatureOf(about)))));
  writeWeights(path, tensors, { format: "pt" }, { checksums: false });
  return undefined;
}
