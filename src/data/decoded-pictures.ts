/** Pictures decoded from their files when they are asked for, and kept in memory as far as a limit allows. */
import { resolve } from "node:path";
import { keep } from "../engine/scope.js";
import { DataError } from "../errors.js";
import type { PixelBlock } from "./augment.js";
import { pixelBytes } from "./cache-index.js";
import type { PictureDataset } from "./dataset.js";
import { decodeFile } from "./decode.js";
import { startsOf } from "./file-pictures.js";
import type { FoundPicture, LostPicture, PictureStore, SampleId } from "./picture-store.js";
import { upload } from "./upload.js";

export interface DecodedPicturesOptions {
  shortSide: number | null;
  device: string;
  /** Bytes of decoded pictures that may be kept for the next time. */
  memoryLimit: number;
}

export class DecodedPictures implements PictureStore {
  readonly kind = "decode";
  readonly device: string;
  /** Bytes of pictures that are kept. */
  bytes = 0;
  private readonly kept: Map<number, FoundPicture | LostPicture>[];

  constructor(
    private readonly dataset: PictureDataset,
    private readonly options: DecodedPicturesOptions,
  ) {
    this.device = options.device;
    this.kept = dataset.domains.map(() => new Map());
  }

  find({ domain, index }: SampleId): FoundPicture | LostPicture | Promise<FoundPicture | LostPicture> {
    return this.kept[domain].get(index) ?? this.decode(domain, index);
  }

  private async decode(domain: number, index: number): Promise<FoundPicture | LostPicture> {
    const path = resolve(this.dataset.root, this.dataset.domains[domain].files[index]);
    try {
      const picture = {
        offset: 0,
        ...(await decodeFile(path, { shortSide: this.options.shortSide, upright: this.dataset.upright })),
      };
      const bytes = pixelBytes(picture);
      if (!this.kept[domain].has(index) && this.bytes + bytes <= this.options.memoryLimit) {
        this.kept[domain].set(index, picture);
        this.bytes += bytes;
      }
      return picture;
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      const lost = { problem: error.message };
      this.kept[domain].set(index, lost);
      return lost;
    }
  }

  expect(): void {}

  block(pictures: readonly FoundPicture[]): PixelBlock & { owned: boolean } {
    const parts = pictures.map(({ pixels }) => pixels as Uint8Array); // `find` put them there
    const offsets = startsOf(Float64Array.from(parts, ({ length }) => length));
    const sizes = Int32Array.from(pictures.flatMap(({ width, height }) => [width, height]));
    return { source: keep(upload(Buffer.concat(parts), { device: this.device })), offsets, sizes, owned: true };
  }

  [Symbol.dispose](): void {
    for (const domain of this.kept) domain.clear();
  }
}
