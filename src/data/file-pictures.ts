/** Pictures whose pixels are read from the cache on disk for each batch; the system is told of the next ones beforehand. */
import { loadNative } from "../engine/load.js";
import { keep } from "../engine/scope.js";
import { Tensor } from "../engine/tensor.js";
import type { PixelBlock } from "./augment.js";
import type { Catalog } from "./picture-catalog.js";
import type { FoundPicture, LostPicture, PictureStore, SampleId } from "./picture-store.js";

export class FilePictures implements PictureStore {
  readonly kind = "file";

  constructor(
    private readonly catalog: Catalog,
    readonly device: string,
  ) {}

  find({ domain, index }: SampleId): FoundPicture | LostPicture {
    const { files, offsets, sizes, problems } = this.catalog.domains[domain];
    const problem = problems.get(index);
    if (problem !== undefined) return { problem };
    return { file: files[index], offset: offsets[index], width: sizes[2 * index], height: sizes[2 * index + 1] };
  }

  expect(pictures: readonly FoundPicture[]): void {
    const { files, offsets, lengths } = piecesOf(pictures);
    loadNative().willNeed(files, offsets, lengths);
  }

  block(pictures: readonly FoundPicture[]): PixelBlock & { owned: boolean } {
    const { files, offsets, lengths } = piecesOf(pictures);
    const sizes = Int32Array.from(pictures.flatMap(({ width, height }) => [width, height]));
    // On the host the kernel reads for itself, only the rows it needs.
    if (this.device === "cpu") return { source: null, files, offsets, sizes, owned: false };
    using read = new Tensor(loadNative().gather(files, offsets, lengths, true));
    const source = keep(read.toDevice(this.device, "uint8", true));
    return { source, offsets: startsOf(lengths), sizes, owned: true };
  }

  [Symbol.dispose](): void {
    this.catalog[Symbol.dispose]();
  }
}

function piecesOf(pictures: readonly FoundPicture[]) {
  return {
    files: Int32Array.from(pictures, ({ file }) => file ?? -1),
    offsets: Float64Array.from(pictures, ({ offset }) => offset),
    lengths: Float64Array.from(pictures, ({ width, height }) => width * height * 3),
  };
}

/** Where each of some pieces begins when they stand one after the other. */
export function startsOf(lengths: Float64Array): Float64Array {
  let at = 0;
  return lengths.map((length) => {
    at += length;
    return at - length;
  });
}
