/**
 * Code for other programs that converts a picture file to the input of a model: JavaScript with sharp, and Python with
 * Pillow and NumPy. A test runs both and compares their numbers with those of `nudge predict`.
 */

import type { ModelAbout } from "../model/about.js";

export interface PreprocessingCode {
  readonly javascript: string;
  readonly python: string;
}

/** The code for a model; null if its input is not pictures. With `pixels`, the model normalizes the picture itself. */
export function preprocessingCode(
  { preprocessing }: ModelAbout,
  input: "normalised" | "pixels",
): PreprocessingCode | null {
  if (preprocessing.kind !== "pictures") return null;
  const { shortSide, mean, std, inputShape, resize, interpolation } = preprocessing;
  const size = inputShape[1];
  const cubic = interpolation === "bicubic";
  const kernel = interpolation === undefined ? "" : `, kernel: "${cubic ? "cubic" : "linear"}"`;
  const support = cubic ? "2 * stretch" : "stretch";
  const isPixels = input === "pixels";
  return {
    javascript: `import sharp from "sharp";

/** A picture's file (a path or its bytes) as ${isPixels ? `Uint8Array [${size}, ${size}, 3]` : `Float32Array [3, ${size}, ${size}]`}. */
export async function preprocess(file) {
  const { width, height, orientation = 1, format, space } = await sharp(file).metadata();
  const [w, h] = orientation >= 5 ? [height, width] : [width, height];
  const scale = ${shortSide} / Math.min(w, h);
  const smaller = { width: Math.round(w * scale), height: Math.round(h * scale), fit: "fill"${kernel} };
  const image = sharp(file, { autoOrient: true, ignoreIcc: true, failOn: "none" });
  if (space === "cmyk") image.pipelineColourspace("cmyk").toColourspace("cmyk");
  else image.toColourspace("srgb").removeAlpha();
  const whileDecoding = format === "jpeg" && space !== "cmyk";
  if (scale < 1 && whileDecoding) image.resize(smaller);
  let { data, info } = await image.raw({ depth: "uchar" }).toBuffer({ resolveWithObject: true });
  if (space === "cmyk") data = fromCmyk(data);
  if (scale < 1 && !whileDecoding) {
    // Only after the alpha is dropped, so that transparent pixels count like others.
    const decoded = sharp(data, { raw: { width: info.width, height: info.height, channels: 3 } });
    ({ data, info } = await decoded.resize(smaller).raw().toBuffer({ resolveWithObject: true }));
  }
${
  resize === undefined
    ? `  const [wide, high] = [${size}, ${size}]; // whatever its shape`
    : `  const short = Math.min(info.width, info.height);
  const [wide, high] = [info.width, info.height].map((side) => (side === short ? ${resize} : Math.floor((${resize} * side) / short)));`
}
  const rows = resize(data, info.width, wide, info.height, true); // each row to \`wide\` pixels, of which the centre is kept
  const pixels = resize(rows, info.height, high, ${size}, false); // then each column
${
  isPixels
    ? "  return pixels;"
    : `  const [mean, std] = [[${mean.join(", ")}], [${std.join(", ")}]];
  return Float32Array.from({ length: pixels.length }, (_, i) => {
    const [channel, place] = [Math.floor(i / ${size ** 2}), i % ${size ** 2}];
    return (pixels[3 * place + channel] / 255 - mean[channel]) / std[channel];
  });`
}
}

/** The ${size} pixels in the middle of lines of \`length\` pixels that are resized to \`target\` (${cubic ? "bicubic" : "bilinear"} with antialias). */
function resize(from, length, target, lines, isRows) {
  const to = new Uint8Array((isRows ? lines : ${size}) * ${size} * 3);
  const scale = length / target;
  const stretch = Math.max(scale, 1);
  const support = ${support};
  const half = (target - ${size}) / 2;
  const begin = half % 1 === 0 ? half : 2 * Math.round(half / 2); // a half goes to the even number, as in Python
  for (let at = 0; at < ${size}; at++) {
    const centre = (begin + at + 0.5) * scale;
    const first = Math.max(0, Math.floor(centre - support + 0.5));
    const last = Math.min(length, Math.floor(centre + support + 0.5));
    const exact = [];
    for (let k = first; k < last; k++) exact.push(kernel(Math.abs((k + 0.5 - centre) / stretch)));
    const total = exact.reduce((sum, weight) => sum + weight, 0);
    const weights = exact.map((weight) => Math.sign(weight) * Math.floor((Math.abs(weight) / total) * 2 ** 22 + 0.5)); // fixed point, as in Pillow
    for (let line = 0; line < lines; line++)
      for (let channel = 0; channel < 3; channel++) {
        let sum = 2 ** 21;
        for (let k = first; k < last; k++)
          sum += weights[k - first] * from[isRows ? (line * length + k) * 3 + channel : (k * ${size} + line) * 3 + channel];
        to[isRows ? (line * ${size} + at) * 3 + channel : (at * ${size} + line) * 3 + channel] = Math.min(Math.max(Math.floor(sum / 2 ** 22), 0), 255);
      }
  }
  return to;
}

/** CMYK to RGB as in Pillow: each channel is the light that its ink and black transmit. */
function fromCmyk(cmyk) {
  return Uint8Array.from({ length: (cmyk.length / 4) * 3 }, (_, i) => {
    const at = 4 * Math.floor(i / 3);
    const light = 255 - cmyk[at + 3];
    const product = cmyk[at + (i % 3)] * light + 128;
    return light - ((product + (product >> 8)) >> 8);
  });
}

/** What a pixel at this distance weighs. */
function kernel(distance) {
${
  cubic
    ? `  if (distance < 1) return (1.5 * distance - 2.5) * distance * distance + 1;
  return distance < 2 ? (((distance - 5) * distance + 8) * distance - 4) * -0.5 : 0;`
    : "  return Math.max(0, 1 - distance);"
}
}
`,
    python: `import numpy as np
from PIL import Image, ImageOps

def preprocess(file):
    """A picture's file as ${isPixels ? `uint8 [${size}, ${size}, 3]` : `float32 [3, ${size}, ${size}]`}."""
    image = Image.open(file)
    if image.mode.startswith("I"):  # 16-bit grey, which Pillow would clip
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    width, height = image.size
    scale = ${shortSide} / min(width, height)
    if scale < 1:
        # A JPEG is first decoded at a half, a quarter or an eighth of its size, as far as that is not too small.
        while image.format == "JPEG" and min(image.size) >= 2 * ${shortSide}:
            before = image.size
            image.draft("RGB", (before[0] // 2, before[1] // 2))
            if image.size == before:
                break
        image = image.convert("RGB").resize((int(width * scale + 0.5), int(height * scale + 0.5)), Image.${interpolation === undefined ? "LANCZOS" : interpolation.toUpperCase()})
    image = ImageOps.exif_transpose(image).convert("RGB")
${
  resize === undefined
    ? `    image = image.resize((${size}, ${size}), Image.${cubic ? "BICUBIC" : "BILINEAR"})`
    : `    short = min(image.size)
    wide, high = (${resize} if side == short else ${resize} * side // short for side in image.size)
    image = image.resize((wide, high), Image.${cubic ? "BICUBIC" : "BILINEAR"})
    left, top = round((wide - ${size}) / 2), round((high - ${size}) / 2)
    image = image.crop((left, top, left + ${size}, top + ${size}))`
}
    pixels = np.asarray(image)
${
  isPixels
    ? "    return pixels"
    : `    mean, std = np.float32([${mean.join(", ")}]), np.float32([${std.join(", ")}])
    return ((pixels / np.float32(255) - mean) / std).transpose(2, 0, 1)`
}
`,
  };
}
