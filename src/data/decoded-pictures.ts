/**
 * Pictures that are decoded on demand and kept in memory up to a limit. The pictures of a batch are decoded together,
 * into one buffer, which becomes the block of their batch: so the main thread has little to do for each of them.
 */
import { resolve } from "node:path";
import { cat } from "../engine/ops.generated.js";
import { keep, scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { DataError } from "../errors.js";
import type { PixelBlock } from "./augment.js";
import type { PictureDataset } from "./dataset.js";
import { decodeBatch, decodeFile } from "./decode.js";
import { hostBlock, joinedOnHost, sizesOf } from "./file-pictures.js";
import type { Interpolation } from "./framing.js";
import { pixelBytes } from "./picture-blocks.js";
import type { Found, FoundPicture, LostPicture, PictureStore, SampleId } from "./picture-store.js";
import { copyAhead } from "./upload.js";

export interface DecodedPicturesOptions {
  shortSide: number | null;
  filter?: Interpolation;
  device: string;
  /** The maximum number of bytes of decoded pictures that are kept. */
  memoryLimit: number;
}

/** A picture in a buffer with others. */
interface Grouped extends FoundPicture {
  readonly group: Group;
}

/** Pictures that were decoded together: their pixels until a batch has used them. */
class Group {
  readonly reference = new WeakRef(this);
  constructor(readonly pixels: Tensor) {}
}

const isGrouped = (picture: FoundPicture): picture is Grouped => "group" in picture;

type Outcome = FoundPicture | LostPicture;

interface Request extends SampleId {
  readonly answer: (outcome: Outcome | Promise<Outcome>) => void;
  readonly fail: (error: unknown) => void;
}

export class DecodedPictures implements PictureStore {
  readonly kind = "decode";
  readonly device: string;
  /** The number of bytes that are kept. */
  bytes = 0;
  private readonly kept: Map<number, Outcome>[];
  /**
   * The groups that no batch has used. A loader that ends early or is interrupted leaves some behind, which the garbage
   * collector frees.
   */
  private readonly unused = new Set<WeakRef<Group>>();
  private disposed = false;

  constructor(
    private readonly dataset: PictureDataset,
    private readonly options: DecodedPicturesOptions,
  ) {
    this.device = options.device;
    this.kept = dataset.domains.map(() => new Map());
  }

  find(samples: readonly SampleId[]): Found<FoundPicture>[] {
    const requests: Request[] = [];
    const found = samples.map(
      ({ domain, index }) =>
        this.kept[domain].get(index) ??
        new Promise<Outcome>((answer, fail) => requests.push({ domain, index, answer, fail })),
    );
    if (requests.length > 0)
      this.decodeTogether(requests).catch((error: unknown) => {
        for (const { fail } of requests) fail(error); // those that have no answer yet
      });
    return found;
  }

  private async decodeTogether(requests: readonly Request[]): Promise<void> {
    const paths = requests.map((request) => this.pathOf(request));
    const { shortSide, filter, device } = this.options;
    const options = { shortSide, filter, upright: this.dataset.upright, pinned: device !== "cpu" };
    const decoded = await decodeBatch(paths, options).catch(() => null); // then one by one, which reports the problem
    if (!decoded) {
      for (const request of requests) request.answer(this.decode(request));
      return;
    }
    const { pixels, sizes } = decoded;
    const group = new Group(pixels);
    for (const reference of this.unused) if (!reference.deref()) this.unused.delete(reference);
    this.unused.add(group.reference);
    let [offset, isUsed] = [0, false];
    for (const [i, request] of requests.entries()) {
      const [width, height] = [sizes[2 * i], sizes[2 * i + 1]];
      if (width === 0) {
        request.answer(this.decode(request));
        continue;
      }
      const picture: Grouped = { width, height, offset, group };
      offset += pixelBytes(picture);
      const kept = this.keepIfRoom(request, picture);
      isUsed ||= kept === picture;
      request.answer(kept);
    }
    if (this.disposed || !isUsed) this.free(group);
  }

  /** Decodes one picture, of any format. */
  private async decode(sample: SampleId): Promise<Outcome> {
    const { shortSide, filter } = this.options;
    try {
      const decoded = await decodeFile(this.pathOf(sample), { shortSide, filter, upright: this.dataset.upright });
      return this.keepIfRoom(sample, { offset: 0, ...decoded });
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      const lost = { problem: error.message };
      this.kept[sample.domain].set(sample.index, lost);
      return lost;
    }
  }

  private pathOf({ domain, index }: SampleId): string {
    return resolve(this.dataset.root, this.dataset.domains[domain].files[index]);
  }

  /** Keeps a picture, with memory of its own, if there is room. Returns what is used of it from now on. */
  private keepIfRoom({ domain, index }: SampleId, picture: FoundPicture): FoundPicture {
    const bytes = pixelBytes(picture);
    if (this.kept[domain].has(index) || this.bytes + bytes > this.options.memoryLimit) return picture;
    const { width, height } = picture;
    const kept = { width, height, offset: 0, pixels: pixelsOf(picture) };
    this.kept[domain].set(index, kept);
    this.bytes += bytes;
    return kept;
  }

  expect(): void {}

  block(pictures: readonly FoundPicture[]): PixelBlock & { owned: boolean } {
    const groups = [...new Set(pictures.flatMap((picture) => (isGrouped(picture) ? [picture.group] : [])))];
    const sizes = sizesOf(pictures);
    try {
      if (this.device !== "cpu") return { ...this.onDevice(pictures, groups), sizes, owned: true };
      const [group] = groups;
      if (groups.length !== 1 || !pictures.every(isGrouped))
        return { ...hostBlock(pictures.map(pixelsOf), sizes), owned: false };
      this.unused.delete(group.reference); // the caller disposes of the pixels
      return { source: group.pixels, offsets: Float64Array.from(pictures, ({ offset }) => offset), sizes, owned: true };
    } finally {
      for (const group of groups) this.free(group);
    }
  }

  /** The pixels of pictures on the device: those with memory of their own, then the groups. */
  private onDevice(
    pictures: readonly FoundPicture[],
    groups: readonly Group[],
  ): Pick<PixelBlock, "source" | "offsets"> {
    const single = pictures.filter((picture) => !isGrouped(picture));
    const starts = new Map<FoundPicture | Group, number>();
    let end = 0;
    const place = (each: FoundPicture | Group, bytes: number): void => {
      starts.set(each, end);
      end += bytes;
    };
    for (const picture of new Set(single)) place(picture, pixelBytes(picture));
    for (const group of groups) place(group, group.pixels.numel);
    const offsets = Float64Array.from(pictures, (picture) =>
      isGrouped(picture) ? starts.get(picture.group)! + picture.offset : starts.get(picture)!,
    );
    return scope(() => {
      const joined = single.length === 0 ? [] : [joinedOnHost([...new Set(single)].map(pixelsOf), true)];
      const parts = [...joined, ...groups.map(({ pixels }) => pixels)];
      const copies = parts.map((part) => copyAhead(part, this.device));
      return { source: keep(copies.length === 1 ? copies[0] : cat(copies)), offsets };
    });
  }

  /** Frees the pixels of a group, unless a block has them. */
  private free(group: Group): void {
    if (this.unused.delete(group.reference)) group.pixels.dispose();
  }

  [Symbol.dispose](): void {
    this.disposed = true;
    for (const reference of this.unused) reference.deref()?.pixels.dispose();
    this.unused.clear();
    for (const domain of this.kept) domain.clear();
  }
}

/** The pixels of a picture, in its own memory or copied from its group. */
function pixelsOf(picture: FoundPicture): Uint8Array {
  if (!isGrouped(picture)) return picture.pixels as Uint8Array; // set by `find`
  return scope(() => picture.group.pixels.narrow(0, picture.offset, pixelBytes(picture)).bytes());
}
