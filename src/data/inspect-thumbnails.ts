/** Small pictures of a dataset's samples, as training sees them and as data URIs, for a page that needs no other file. */
import { resolve } from "node:path";
import sharp, { type Sharp } from "sharp";
import { DataError } from "../errors.js";
import type { Dataset } from "./dataset.js";
import { decodeBytes, decodeFile } from "./decode.js";

/** A sample on the contact sheet. */
export interface Thumbnail {
  /** Its path, or its place where it has none. */
  readonly name: string;
  /** The picture, or why there is none. */
  readonly uri?: string;
  readonly problem?: string;
  /** The size of the picture that it is of, or of one in the same proportions. */
  readonly size?: { readonly width: number; readonly height: number };
}

/** Thumbnails by class and domain. */
export type ContactSheet = readonly (readonly (readonly Thumbnail[])[])[];

/** Longest side in pixels: sharp on screens of twice the density. */
const side = 144;
/** Thumbnails on a page, so that a browser still opens it at once; with more cells than this, one each. */
const most = 1200;
const mostOfCell = 8;

/** Evenly spaced places in a list, so that a sheet shows all of it and is the same every time. */
export function spacedPlaces(length: number, count: number): number[] {
  const chosen = Math.min(length, count);
  return Array.from({ length: chosen }, (_, k) => Math.floor(((k + 0.5) * length) / chosen));
}

/** A picture in memory: rows of pixels of one or three channels. */
interface Pixels {
  readonly width: number;
  readonly height: number;
  readonly channels: 1 | 3;
  readonly pixels: Uint8Array;
}

/** Bytes of one, two or three channels as a picture; two are shown as red and green. */
function fromArray(values: Uint8Array, [channels, height, width]: readonly number[]): Pixels {
  if (channels !== 2) return { width, height, channels: channels as 1 | 3, pixels: values };
  const pixels = new Uint8Array(3 * width * height);
  for (let i = 0; i < width * height; i++) pixels.set(values.subarray(2 * i, 2 * i + 2), 3 * i);
  return { width, height, channels: 3, pixels };
}

/** One sample, small. */
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

/** A picture, small, as a data URI; generated pictures have sharp edges, and are kept without loss. */
async function smallPicture(picture: Sharp, lossless: boolean, longest = side): Promise<string> {
  const small = await picture
    .resize(longest, longest, { fit: "inside", withoutEnlargement: true })
    .webp(lossless ? { lossless } : { quality: 70 })
    .toBuffer();
  return `data:image/webp;base64,${small.toString("base64")}`;
}

/** A picture of one's own, by its path or its bytes, small and upright; undefined where it cannot be read. */
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

/** Whether the samples can be looked at. */
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
