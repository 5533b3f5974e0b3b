/**
 * The metadata of an exported file, as texts that any program can read. It includes NUDGE's own key, so that NUDGE can
 * load the file.
 */

import { showName } from "../data/show-name.js";
import { METADATA_KEY, type ModelAbout, temperatureOf } from "../model/about.js";

/** Metadata for ONNX and safetensors files. */
export function exportMetadata(about: ModelAbout): Record<string, string> {
  return {
    [METADATA_KEY]: JSON.stringify(about),
    classes: JSON.stringify(about.classes),
    preprocessing: preprocessingWords(about),
    domains: JSON.stringify(about.domains),
    licence: licenceWords(about),
    temperature: String(temperatureOf(about)),
  };
}

/** The preprocessing of a picture, as text. */
export function preprocessingWords({ preprocessing }: ModelAbout): string {
  const { inputShape } = preprocessing;
  if (preprocessing.kind === "arrays") return `arrays without preprocessing, [batch, ${inputShape.join(", ")}]`;
  const [, height, width] = inputShape;
  const { shortSide, resize, interpolation } = preprocessing;
  const by = interpolation === undefined ? "" : ` (${interpolation}, with antialiasing)`;
  const framed =
    resize === undefined
      ? `resized to exactly ${width}×${height} (${interpolation ?? "bilinear"}, with antialiasing), without keeping the aspect ratio`
      : `the short side resized to ${resize} (${interpolation ?? "bilinear"}, with antialiasing), the centre cropped to ${width}×${height}`;
  return (
    `RGB, rotated as its EXIF data says; if the short side is longer than ${shortSide} pixels, scaled down to that${by}; ${framed}; divided by 255; minus [${preprocessing.mean.join(", ")}], divided by ` +
    `[${preprocessing.std.join(", ")}]; [batch, 3, ${height}, ${width}]`
  );
}

/** The license of the starting weights, if it is known. */
export function licenceWords({ startingWeights }: ModelAbout): string {
  if (!startingWeights) return "Trained from random weights: no license of starting weights applies";
  const { licence, metadata } = startingWeights;
  if (licence !== null) return `Starting weights: ${licence}`;
  const said = ["weights", "source", "description"].flatMap((key) => metadata[key] ?? []);
  const itself = said.length > 0 ? `. Its description: ${said.map((text) => `"${showName(text)}"`).join(", ")}` : "";
  return `The file of starting weights has no license${itself}`;
}
