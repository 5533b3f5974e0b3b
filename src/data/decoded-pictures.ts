/** Pictures that are decoded on demand and kept in memory up to a limit. */
import { resolve } from "node:path";
import { DataError } from "../errors.js";
import type { PixelBlock } from "./augment.js";
import type { PictureDataset } from "./dataset.js";
import { decodeFile } from "./decode.js";
import { blockOf, sizesOf } from "./file-pictures.js";
import type { Interpolation } from "./framing.js";
import { pixelBytes } from "./picture-blocks.js";
import type { FoundPicture, LostPicture, PictureStore, SampleId } from "./picture-store.js";

export interface DecodedPicturesOptions {
  shortSide: number | null;
  filter?: Interpolation;
  device: string;
  /** The maximum number of bytes of decoded pictures that are kept. */
  memoryLimit: number;
}

export class DecodedPictures implements PictureStore {
  readonly kind = "decode";
  readonly device: string;
  /** The number of bytes that are kept. */
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
    const { shortSide, filter } = this.options;
    const path = resolve(this.dataset.root, this.dataset.domains[domain].files[index]);
    try {
      const picture = {
        offset: 0,
        ...(await decodeFile(path, { shortSide, filter, upright: this.dataset.upright })),
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
    const parts = pictures.map(({ pixels }) => pixels as Uint8Array); // set by `find`
    return blockOf(parts, sizesOf(pictures), this.device);
  }

  [Symbol.dispose](): void {
    for (const domain of this.kept) domain.clear();
  }
}
