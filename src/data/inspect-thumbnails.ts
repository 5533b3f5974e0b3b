/** Thumbnails of a dataset's samples, as training sees them, as data URIs for a page without other files. */
import { resolve } from "node:path";
import sharp, { type Sharp } from "sharp";
import { DataError } from "../errors.js";
import type { Dataset } from "./dataset.js";
import { decodeBytes, decodeFile } from "./decode.js";

/** A sample on the contact sheet. */
export interface Thumbnail {
  /** Its path, or its index if it has none. */
  readonly name: string;
  /** The picture, or why there is none. */
  readonly uri?: string;
  readonly problem?: string;
  /** The size of the original picture, or of one with the same aspect ratio. */
  readonly size?: { readonly width: number; readonly height: number };
}

/** Thumbnails by class and domain. */
export type ContactSheet = readonly (readonly (readonly Thumbnail[])[])[];

/** The longest side in pixels, enough for screens with twice the density. */
const side = 144;
/** The maximum number of thumbnails on a page, so that it opens quickly. With more cells than this, one per cell. */
const most = 1200;
const mostOfCell = 8;

/** Evenly spaced indices of a list, always the same. */
export function spacedPlaces(length: number, count: number): number[] {
  const chosen = Math.min(length, count);
  return Array.from({ length: chosen }, (_, k) => Math.floor(((k + 0.5) * length) / chosen));
}

/** A picture in memory: rows of pixels with one or three channels. */
interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly channels: 1 | 3;
  readonly pixels: Uint8Array;
}

/** Bytes with one, two or three channels as a picture. Two channels are shown as red and green. */
function fromArray(values: Uint8Array, [channels, height, width]: readonly number[]): Pixels {
  if (channels !== 2) return { width, height, channels: channels as 1 | 3, pixels: values };
  const pixels = new Uint8Array(3 * width * height);
  for (let i = 0; i < width * height; i++) pixels.set(values.subarray(2 * i, 2 * i + 2), 3 * i);
  return { width, height, channels: 3, pixels };
}

/** The thumbnail of one sample. */
export async function thumbnail(dataset: Dataset, domain: number, i: number): Promise<Thumbnail> {
  const { files, read } = dataset.domains[domain];
  const name = files ? files[i] : `sample ${i}`;
  try {
    const { pixels, ...raw }: Pixels = read
      ? fromArray(read(i) as Uint8Array, dataset.inputShape)
      : {
          ...(await decodeFile(resolve(dataset.root as string, name), { shortSide: side, upright: dataset.upright })),
          channels: 3,
        };
    const size = { width: raw.width, height: raw.height };
    return { name, size, uri: await smallPicture(sharp(pixels, { raw }), read !== undefined) };
  } catch (error) {
    return { name, problem: (error as Error).message };
  }
}

/** A thumbnail as a data URI. Generated pictures have sharp edges and are stored without loss. */
async function smallPicture(picture: Sharp, lossless: boolean, longest = side): Promise<string> {
  const small = await picture
    .resize(longest, longest, { fit: "inside", withoutEnlargement: true })
    .webp(lossless ? { lossless } : { quality: 70 })
    .toBuffer();
  return `data:image/webp;base64,${small.toString("base64")}`;
}

/** The thumbnail of a picture that is given by its path or bytes, rotated upright; undefined if it cannot be read. */
export async function thumbnailOf(input: string | Uint8Array, longest = side): Promise<string | undefined> {
  try {
    const options = { shortSide: longest, upright: true };
    const decoded =
      typeof input === "string" ? await decodeFile(input, options) : await decodeBytes(input, "", options);
    const { pixels, width, height } = decoded;
    return await smallPicture(sharp(pixels, { raw: { width, height, channels: 3 } }), false, longest);
  } catch (error) {
    if (error instanceof DataError) return undefined;
    throw error;
  }
}

/** Whether the samples can be shown. */
export const isVisible = ({ kind, inputShape }: Dataset): boolean =>
  kind === "pictures" || (inputShape.length === 3 && inputShape[0] <= 3);

/** Thumbnails of a few samples of every class and domain. */
export async function contactSheet(
  dataset: Dataset,
  progress?: (done: number, total: number) => void,
): Promise<ContactSheet> {
  const cells = dataset.classes.length * dataset.domains.length;
  const each = Math.max(1, Math.min(mostOfCell, Math.floor(most / cells)));
  let done = 0;
  const samplesOf = dataset.domains.map(({ labels }) => {
    const byClass: number[][] = dataset.classes.map(() => []);
    for (const [i, label] of labels.entries()) byClass[label].push(i);
    return byClass;
  });
  const sheet: Thumbnail[][][] = [];
  for (const label of dataset.classes.keys()) {
    const row: Thumbnail[][] = [];
    for (const d of dataset.domains.keys()) {
      const samples = samplesOf[d][label];
      const chosen = spacedPlaces(samples.length, each).map((place) => samples[place]);
      row.push(await Promise.all(chosen.map((i) => thumbnail(dataset, d, i))));
      progress?.(++done, cells);
    }
    sheet.push(row);
  }
  return sheet;
}
