/**
 * The pixels that a model reads, from a decoded picture of any size: scaled down to a short side, then resized to the
 * input's size or cropped to it, with antialias and the rounding of Pillow. This is the arithmetic of `nudge predict`;
 * only the first step, for pictures with a longer short side, differs by rounding from sharp's.
 */

import type { PixelFraming } from "../offline-model.js";

/** Red, green and blue of each pixel, row by row. */
export interface Pixels {
  readonly data: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Returns [size, size, 3]. */
export function framedPixels(picture: Pixels, { size, shortSide, resize, interpolation }: PixelFraming): Uint8Array {
  const scale = shortSide / Math.min(picture.width, picture.height);
  const small =
    scale < 1
      ? resized(picture, {
          width: Math.round(picture.width * scale),
          height: Math.round(picture.height * scale),
          filter: interpolation === undefined ? lanczos : filterOf(interpolation),
        })
      : picture;
  const filter = filterOf(interpolation);
  if (resize === undefined) return resized(small, { width: size, height: size, filter }).data;
  const short = Math.min(small.width, small.height);
  const sideOf = (side: number): number => (side === short ? resize : Math.floor((resize * side) / short));
  const [width, height] = [sideOf(small.width), sideOf(small.height)];
  return resized(small, { width, height, filter, crop: size }).data;
}

/** The weight of a pixel by its distance, and the distance from which on it is zero. */
interface Filter {
  readonly support: number;
  weight(distance: number): number;
}

const linear: Filter = { support: 1, weight: (x) => Math.max(0, 1 - x) };
const cubic: Filter = {
  support: 2,
  weight(x) {
    if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.5 : 0;
  },
};
const sinc = (x: number): number => (x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));
const lanczos: Filter = { support: 3, weight: (x) => (x < 3 ? sinc(x) * sinc(x / 3) : 0) };
const filterOf = (interpolation: PixelFraming["interpolation"]): Filter =>
  interpolation === "bicubic" ? cubic : linear;

interface Resize {
  readonly width: number;
  readonly height: number;
  readonly filter: Filter;
  /** The side of the square in the centre that is kept. */
  readonly crop?: number;
}

/** Resizes each row, then each column. */
function resized(picture: Pixels, { width, height, filter, crop }: Resize): Pixels {
  const [wide, high] = [crop ?? width, crop ?? height];
  const columns = pixelWeights(picture.width, width, wide, filter);
  const rows = new Uint8Array(picture.height * wide * 3);
  for (let y = 0; y < picture.height; y++)
    for (const [x, { first, weights }] of columns.entries())
      for (let channel = 0; channel < 3; channel++) {
        let sum = HALF;
        for (let k = 0; k < weights.length; k++)
          sum += weights[k] * picture.data[(y * picture.width + first + k) * 3 + channel];
        rows[(y * wide + x) * 3 + channel] = byte(sum);
      }
  const data = new Uint8Array(high * wide * 3);
  for (const [y, { first, weights }] of pixelWeights(picture.height, height, high, filter).entries())
    for (let at = 0; at < wide * 3; at++) {
      let sum = HALF;
      for (let k = 0; k < weights.length; k++) sum += weights[k] * rows[(first + k) * wide * 3 + at];
      data[y * wide * 3 + at] = byte(sum);
    }
  return { data, width: wide, height: high };
}

/** Pillow's fixed point: weights of 22 bits after the point. */
const ONE = 2 ** 22;
const HALF = ONE / 2;
const byte = (sum: number): number => Math.min(Math.max(Math.floor(sum / ONE), 0), 255);

/** The weights of the `kept` pixels in the middle of a line of `length` pixels that is resized to `target`. */
function pixelWeights(length: number, target: number, kept: number, { support, weight }: Filter) {
  const scale = length / target;
  const stretch = Math.max(scale, 1);
  const half = (target - kept) / 2;
  const begin = half % 1 === 0 ? half : 2 * Math.round(half / 2); // a half goes to the even number, as in Python
  return Array.from({ length: kept }, (_, at) => {
    const centre = (begin + at + 0.5) * scale;
    const first = Math.max(0, Math.floor(centre - support * stretch + 0.5));
    const last = Math.min(length, Math.floor(centre + support * stretch + 0.5));
    const exact = Array.from({ length: last - first }, (_, k) =>
      weight(Math.abs((first + k + 0.5 - centre) / stretch)),
    );
    const total = exact.reduce((sum, each) => sum + each, 0);
    const weights = exact.map((each) => Math.sign(each) * Math.floor((Math.abs(each) / total) * ONE + 0.5));
    return { first, weights };
  });
}
