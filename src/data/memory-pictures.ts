/** All pictures of a dataset as bytes in one tensor, on the host or on a GPU. */
import { loadNative } from "../engine/load.js";
import { empty } from "../engine/ops.generated.js";
import { keep, scope } from "../engine/scope.js";
import { Tensor } from "../engine/tensor.js";
import type { PixelBlock } from "./augment.js";
import { startsOf } from "./file-pictures.js";
import type { Catalog } from "./picture-catalog.js";
import type { FoundPicture, LostPicture, PictureStore, SampleId } from "./picture-store.js";

/** Where the pictures of one domain are in the bytes. */
export interface MemoryDomain {
  readonly offsets: Float64Array;
  readonly sizes: Int32Array;
  readonly problems: ReadonlyMap<number, string>;
}

/** Bytes that are brought to a GPU at once. */
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

  /** Reads all of a cache. */
  static load(catalog: Catalog, device: string): MemoryPictures {
    const files = Int32Array.from(catalog.domains.flatMap((domain) => Array.from(domain.files)));
    const offsets = Float64Array.from(catalog.domains.flatMap((domain) => Array.from(domain.offsets)));
    const lengths = Float64Array.from(
      catalog.domains.flatMap(({ sizes, offsets: { length } }) =>
        Array.from({ length }, (_, i) => sizes[2 * i] * sizes[2 * i + 1] * 3),
      ),
    );
    const starts = startsOf(lengths);
    const bytes = read(files, offsets, lengths, starts, catalog.bytes, device);
    let first = 0;
    const domains = catalog.domains.map(({ sizes, problems, offsets: { length } }) => {
      first += length;
      return { offsets: starts.slice(first - length, first), sizes, problems };
    });
    return new MemoryPictures(bytes, domains);
  }

  find({ domain, index }: SampleId): FoundPicture | LostPicture {
    const { offsets, sizes, problems } = this.domains[domain];
    const problem = problems.get(index);
    if (problem !== undefined) return { problem };
    return { offset: offsets[index], width: sizes[2 * index], height: sizes[2 * index + 1] };
  }

  expect(): void {}

  block(pictures: readonly FoundPicture[]): PixelBlock & { owned: boolean } {
    const offsets = Float64Array.from(pictures, ({ offset }) => offset);
    const sizes = Int32Array.from(pictures.flatMap(({ width, height }) => [width, height]));
    return { source: this.bytes, offsets, sizes, owned: false };
  }

  [Symbol.dispose](): void {
    this.bytes.dispose();
  }
}

/** The pieces one after the other in one tensor; a bad picture's piece has no bytes. */
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
