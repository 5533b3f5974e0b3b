/**
 * How a picture of any shape becomes the square that a network takes. DomainBed resizes the whole picture to the square; most
 * publishers of weights resize the short side and crop the centre.
 */

import { defaultShortSide } from "./default-short-side.js";

/** By which pixels that lie between those of a picture are computed, as PIL does it. */
export type Interpolation = "bilinear" | "bicubic";

export interface Framing {
  /** The short side that is resized to before the centre is cropped; absent if the whole picture is resized to the square. */
  readonly resize?: number;
  /** Of every resize, also of that while decoding. Absent: bilinear, after Lanczos' filter while decoding. */
  readonly interpolation?: Interpolation;
}

/** How pictures are decoded for a framing: the short side that larger ones are scaled down to, and the filter for that. */
export interface Scaling {
  readonly shortSide: number;
  readonly filter?: Interpolation;
}

/** The scaling for squares of `size` pixels. Random crops of at least 70 % of the area still have about `size` pixels. */
export function scalingFor({ resize, interpolation }: Framing, size: number): Scaling {
  const shortSide = Math.max(defaultShortSide, resize ?? Math.ceil((size * defaultShortSide) / 224));
  return { shortSide, ...(interpolation && { filter: interpolation }) };
}

/** The same framing for squares of another size. */
export const framingAt = ({ resize, ...rest }: Framing, from: number, to: number): Framing => ({
  ...(resize !== undefined && { resize: Math.round((resize * to) / from) }),
  ...rest,
});
