/** All pictures of a dataset as bytes in one tensor, on the host or on a GPU. */
import { loadNative } from "../engine/load.js";
import { empty } from "../engine/ops.generated.js";
import { keep, scope } from "../engine/scope.js";
import { Tensor } from "../engine/tensor.js";
import { type ContentStore, isStored } from "../files/content-store.js";
import type { PixelBlock } from "./augment.js";
import type { PictureDataset } from "./dataset.js";
import { sizesOf, startsOf } from "./file-pictures.js";
import type { PictureFacts } from "./picture-blocks.js";
import type { FoundPicture, LostPicture, PictureStore, SampleId } from "./picture-store.js";

/** The positions of the pictures of one domain. */
export interface MemoryDomain {
  readonly offsets: Float64Array;
  readonly sizes: Int32Array;
  readonly problems: ReadonlyMap<number, string>;
}

/** The number of bytes that are copied to a GPU at once. */
const uploadBytes = 256 * 2 ** 20;

export class MemoryPictures implements PictureStore {
  readonly kind = "memory";

  constructor(
    private readonly bytes: Tensor,
    private readonly domains: readonly MemoryDomain[],
  ) {}

  get device(): string {
    return this.bytes.device;
  }

  /** Reads all pictures of a dataset from a store. */
  static load({ domains }: PictureDataset, store: ContentStore<PictureFacts>, device: string): MemoryPictures {
    const pictures = domains.map(({ files }) => files.map((path) => store.entries.get(path)));
    const stored = pictures.flat().filter((entry) => isStored(entry));
    const lengths = Float64Array.from(stored, ({ length }) => length);
    const starts = startsOf(lengths);
    const files = Int32Array.from(stored, (entry) => store.descriptorOf(entry));
    const offsets = Float64Array.from(stored, ({ offset }) => offset);
    const total = lengths.reduce((sum, length) => sum + length, 0);
    const bytes = read(files, offsets, lengths, starts, total, device);
    let next = 0;
    const places = pictures.map((entries, i): MemoryDomain => {
      const problems = new Map<number, string>();
      const sizes = new Int32Array(entries.length * 2);
      const begins = new Float64Array(entries.length);
      for (const [at, entry] of entries.entries()) {
        if (isStored(entry)) {
          sizes.set([entry.width, entry.height], 2 * at);
          begins[at] = starts[next++];
        } else problems.set(at, entry?.problem ?? `picture ${domains[i].files[at]}: is not in the cache`);
      }
      return { offsets: begins, sizes, problems };
    });
    return new MemoryPictures(bytes, places);
  }

  find(samples: readonly SampleId[]): (FoundPicture | LostPicture)[] {
    return samples.map((sample) => this.findOne(sample));
  }

  private findOne({ domain, index }: SampleId): FoundPicture | LostPicture {
    const { offsets, sizes, problems } = this.domains[domain];
    const problem = problems.get(index);
    if (problem !== undefined) return { problem };
    return { offset: offsets[index], width: sizes[2 * index], height: sizes[2 * index + 1] };
  }

  expect(): void {}

  block(pictures: readonly FoundPicture[]): PixelBlock & { owned: boolean } {
    const offsets = Float64Array.from(pictures, ({ offset }) => offset);
    return { source: this.bytes, offsets, sizes: sizesOf(pictures), owned: false };
  }

  [Symbol.dispose](): void {
    this.bytes.dispose();
  }
}

/** Concatenates the pieces in one tensor. The piece of an unreadable picture is empty. */
function read(
  files: Int32Array,
  offsets: Float64Array,
  lengths: Float64Array,
  starts: Float64Array,
  total: number,
  device: string,
): Tensor {
  const native = loadNative();
  if (device === "cpu") return keep(new Tensor(native.gather(files, offsets, lengths, false)));
  return scope(() => {
    const bytes = empty([total], { dtype: "uint8", device });
    for (let from = 0; from < files.length; ) {
      let to = from + 1;
      while (to < files.length && starts[to] + lengths[to] - starts[from] <= uploadBytes) to++;
      scope(() => {
        const part = new Tensor(
          native.gather(files.slice(from, to), offsets.slice(from, to), lengths.slice(from, to), true),
        );
        bytes.narrow(0, starts[from], part.numel).copy_(part);
      });
      from = to;
    }
    return keep(bytes);
  });
}
