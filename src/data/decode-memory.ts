/**
 * The memory that decoding takes, and a budget for all pictures that are decoded at once: a file of a few kilobytes can
 * claim a hundred million pixels. The header says how many before anything is decoded.
 */

import { mostPixels } from "./decoded-picture.js";
import type { PictureFormat, PictureHeader } from "./picture-header.js";

/**
 * The most bytes per pixel that a format takes while it is decoded and scaled down. Measured as the growth of the peak
 * memory at 5000 × 5000 pixels: AVIF 18.8, WebP 10.4, GIF 7.5, progressive JPEG 6.4, JPEG, PNG and TIFF 3.4; interlaced
 * PNGs and TIFFs of one strip are decoded whole.
 */
const BYTES_PER_PIXEL: Readonly<Record<PictureFormat, number>> = {
  ...{ AVIF: 19, HEIC: 19, WebP: 11, GIF: 8, JPEG: 7 },
  ...{ PNG: 8, TIFF: 8, BMP: 7, PPM: 7, PGM: 7 },
};

/** The pixels of a picture in a format that libraries decode as a whole, at many bytes per pixel: 8192 × 6144. */
const MOST_WHOLE_PIXELS = 8192 * 6144;
const WHOLE: ReadonlySet<PictureFormat> = new Set(["AVIF", "HEIC", "WebP", "GIF"]);

/** The most pixels of a picture that is decoded. */
export const mostPixelsOf = (format: PictureFormat): number => (WHOLE.has(format) ? MOST_WHOLE_PIXELS : mostPixels);

/** The memory that decoding a picture takes at most, in bytes. */
export const decodeBytesOf = ({ format, width, height }: PictureHeader): number =>
  width * height * BYTES_PER_PIXEL[format];

/** Pictures that take less do not wait for the others: their number is limited anyway. */
export const SMALL_DECODE = 64 << 20;

/** The memory of all larger pictures that are decoded at once. A picture that needs more is decoded alone. */
const DECODE_BUDGET = 1 << 30;

/** A number of bytes that tasks share. Each waits for its turn; a task that needs more than there is runs alone. */
export class MemoryBudget {
  private used = 0;
  private readonly queue: { readonly bytes: number; readonly begin: () => void }[] = [];

  constructor(private readonly most: number) {}

  /** The bytes that are in use. */
  get inUse(): number {
    return this.used;
  }

  /** Runs a task when its bytes are free. */
  async use<T>(bytes: number, task: () => Promise<T>): Promise<T> {
    await new Promise<void>((begin) => {
      this.queue.push({ bytes, begin });
      this.next();
    });
    try {
      return await task();
    } finally {
      this.used -= bytes;
      this.next();
    }
  }

  private next(): void {
    for (let [first] = this.queue; first; [first] = this.queue) {
      if (this.used > 0 && this.used + first.bytes > this.most) return;
      this.used += first.bytes;
      this.queue.shift();
      first.begin();
    }
  }
}

const decoding = new MemoryBudget(DECODE_BUDGET);

/** Decodes a picture when there is memory for it. */
export const withinBudget = <T>(header: PictureHeader, decode: () => Promise<T>): Promise<T> => {
  const bytes = decodeBytesOf(header);
  return bytes < SMALL_DECODE ? decode() : decoding.use(bytes, decode);
};
