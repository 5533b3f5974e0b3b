/** A decoded picture in memory. */

/** 8-bit RGB: rows from the top, three bytes per pixel. */
export interface DecodedPicture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
  /** Whether the file is truncated. The missing part is gray or black, as in other decoders. */
  readonly truncated: boolean;
  /** The damage that the decoder noticed, if it was asked to report it. The picture is what could be decoded. */
  readonly damage?: string;
}

/** The maximum number of pixels, as in PIL. A larger file is treated as an attempt to exhaust the memory. */
export const mostPixels = 178_956_970;

/** The maximum length of a side. A resize of the short side makes the long side of a thin picture much longer. */
export const longestSide = 2 ** 17;
