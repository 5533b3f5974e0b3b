/** A picture in memory, as all decoders give it and all that follows takes it. */

/** 8-bit RGB: rows from the top, three bytes a pixel. */
export interface DecodedPicture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Uint8Array;
  /** Whether the file ends before its last row: what is missing is grey or black, as other readers of such files have it. */
  readonly truncated: boolean;
}

/** The most pixels a picture may have, as PIL has it: beyond that lies not a picture but an attempt to fill the memory. */
export const mostPixels = 178_956_970;
