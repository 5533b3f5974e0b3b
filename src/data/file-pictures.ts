/**
 * Pictures whose pixels are read from the cache on disk for each batch, with read-ahead by the system. When a picture
 * is first used, its block is read completely and checked; a damaged one is decoded from its file.
 */
import { read as readWithCallback } from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { loadNative } from "../engine/load.js";
import { keep } from "../engine/scope.js";
import { Tensor } from "../engine/tensor.js";
import { DataError } from "../errors.js";
import { type ContentStore, isStored } from "../files/content-store.js";
import type { PixelBlock } from "./augment.js";
import type { PictureDataset } from "./dataset.js";
import { type DecodeOptions, decodeFile } from "./decode.js";
import type { PictureFacts, StoredPicture } from "./picture-blocks.js";
import type { Found, FoundPicture, LostPicture, PictureStore, SampleId } from "./picture-store.js";
import { copyAhead } from "./upload.js";

const read = promisify(readWithCallback);

export class FilePictures implements PictureStore {
  readonly kind = "file";
  /** For each domain, the pictures that were already found. */
  private readonly found: (FoundPicture | LostPicture | undefined)[][];

  constructor(
    private readonly dataset: PictureDataset,
    private readonly store: ContentStore<PictureFacts>,
    private readonly scaling: Pick<DecodeOptions, "shortSide" | "filter">,
    readonly device: string,
  ) {
    this.found = dataset.domains.map(() => []);
  }

  find(samples: readonly SampleId[]): Found<FoundPicture>[] {
    return samples.map(({ domain, index }) => this.found[domain][index] ?? this.check(domain, index));
  }

  private async check(domain: number, index: number): Promise<FoundPicture | LostPicture> {
    const path = this.dataset.domains[domain].files[index];
    const entry = this.store.entries.get(path);
    const found = isStored(entry)
      ? (await this.isIntact(entry))
        ? { ...sizeOf(entry), file: this.store.descriptorOf(entry), offset: entry.offset }
        : await this.decode(path)
      : { problem: entry?.problem ?? `picture ${path}: is not in the cache` };
    this.found[domain][index] = found;
    return found;
  }

  private async isIntact(entry: StoredPicture): Promise<boolean> {
    const bytes = new Uint8Array(entry.length);
    const { bytesRead } = await read(this.store.descriptorOf(entry), bytes, 0, entry.length, entry.offset);
    return bytesRead === entry.length && crc32(bytes) === entry.crc;
  }

  private async decode(path: string): Promise<FoundPicture | LostPicture> {
    const { root, upright } = this.dataset;
    try {
      const decoded = await decodeFile(resolve(root, path), { ...this.scaling, upright });
      return { ...sizeOf(decoded), offset: 0, pixels: decoded.pixels };
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      return { problem: error.message };
    }
  }

  expect(pictures: readonly FoundPicture[]): void {
    const { files, offsets, lengths } = piecesOf(pictures.filter(({ pixels }) => !pixels));
    loadNative().willNeed(files, offsets, lengths);
  }

  block(pictures: readonly FoundPicture[]): PixelBlock & { owned: boolean } {
    const sizes = sizesOf(pictures);
    if (pictures.some(({ pixels }) => pixels)) return this.mixedBlock(pictures, sizes);
    const { files, offsets, lengths } = piecesOf(pictures);
    // On the host, the kernel reads only the rows that it needs.
    if (this.device === "cpu") return { source: null, files, offsets, sizes, owned: false };
    using read = new Tensor(loadNative().gather(files, offsets, lengths, true));
    return { source: keep(copyAhead(read, this.device)), offsets: startsOf(lengths), sizes, owned: true };
  }

  /** The pixels of pictures, some of which had to be decoded, in one buffer. */
  private mixedBlock(pictures: readonly FoundPicture[], sizes: Int32Array): PixelBlock & { owned: boolean } {
    const parts = pictures.map((picture) => {
      if (picture.pixels) return picture.pixels;
      const { files, offsets, lengths } = piecesOf([picture]);
      using bytes = new Tensor(loadNative().gather(files, offsets, lengths, false));
      return bytes.bytes().slice();
    });
    return blockOf(parts, sizes, this.device);
  }

  [Symbol.dispose](): void {
    this.store[Symbol.dispose]();
  }
}

const sizeOf = ({ width, height }: { width: number; height: number }) => ({ width, height });

/** The widths and heights of pictures in one array. */
export const sizesOf = (pictures: readonly { width: number; height: number }[]): Int32Array =>
  Int32Array.from(pictures.flatMap(({ width, height }) => [width, height]));

/** The pixels as a block on the host, where they are. */
export const hostBlock = (parts: readonly Uint8Array[], sizes: Int32Array): PixelBlock => ({
  source: null,
  parts,
  offsets: new Float64Array(parts.length),
  sizes,
});

/** The pixels as a block on a device: on the host they stay where they are. The caller disposes of its source. */
export function blockOf(
  parts: readonly Uint8Array[],
  sizes: Int32Array,
  device: string,
): PixelBlock & { owned: boolean } {
  if (device === "cpu") return { ...hostBlock(parts, sizes), owned: false };
  const offsets = startsOf(Float64Array.from(parts, ({ length }) => length));
  using joined = joinedOnHost(parts, true);
  return { source: keep(copyAhead(joined, device)), offsets, sizes, owned: true };
}

/** Parts as one tensor, uint8 [sum of lengths]; in pinned memory, a copy to a GPU does not wait. */
export const joinedOnHost = (parts: readonly Uint8Array[], pinned: boolean): Tensor =>
  new Tensor(loadNative().join(parts, pinned));

function piecesOf(pictures: readonly FoundPicture[]) {
  return {
    files: Int32Array.from(pictures, ({ file }) => file ?? -1),
    offsets: Float64Array.from(pictures, ({ offset }) => offset),
    lengths: Float64Array.from(pictures, ({ width, height }) => width * height * 3),
  };
}

/** The start of each piece in a concatenation. */
export function startsOf(lengths: Float64Array): Float64Array {
  let at = 0;
  return lengths.map((length) => {
    at += length;
    return at - length;
  });
}
