/**
 * Converts samples of a dataset, pictures or arrays, to tensors for a loader. Pictures are found (in memory, in a file,
 * by decoding), then cropped, jittered and normalized together; arrays are stacked.
 */
import { deviceNamed } from "../engine/device.js";
import { keep, scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { DataError, UsageError } from "../errors.js";
import { augmentOnHost, centreCropDraw, drawLength, plainDraw } from "./augment.js";
import { augmentOnDevice } from "./augment-device.js";
import type { ArrayDataset, PictureDataset } from "./dataset.js";
import { type DecodedPicture, type DecodeOptions, decodeBytes, readPicture } from "./decode.js";
import { hostBlock, sizesOf } from "./file-pictures.js";
import type { Framing } from "./framing.js";
import { asArrays, type Colours, normalizations } from "./normalization.js";
import type { FoundPicture, Found as FoundSample, PictureStore, SampleId } from "./picture-store.js";

/** Writes the draw of the i-th sample of a batch, for a picture of this size. */
export type DrawSample = (i: number, width: number, height: number, into: Float32Array) => void;

/** The draw of a sample as it is, not augmented: the whole of it, or the centre after a resize. */
const plainDrawOf =
  ({ resize: shortSide }: Framing, size: number): DrawSample =>
  (_, width, height, into) =>
    shortSide === undefined
      ? plainDraw(width, height, into)
      : centreCropDraw({ width, height }, { shortSide, size }, into);

/** Unchanged samples, kept until it is disposed of; null if there are none. */
export const plainTensor = <Found>(
  source: Pick<SampleSource<Found>, "make" | "plain">,
  found: readonly Found[],
): Tensor | null => (found.length === 0 ? null : keep(source.make(found, source.plain)));

/** The source of a loader's samples. `find` returns `Found`, and `make` receives it. */
export interface SampleSource<Found = unknown> {
  /** Looks up the samples of a batch. */
  find(samples: readonly SampleId[]): FoundSample<Found>[];
  /** Announces samples that will be needed soon. */
  expect(found: readonly Found[]): void;
  /** Resolves when other threads can finish the work without this thread. */
  started?(): Promise<unknown>;
  /** The draw of a sample that is not augmented. */
  readonly plain: DrawSample;
  /** The samples as one tensor on the loader's device, float32 [n, …]. */
  make(found: readonly Found[], draw: DrawSample): Tensor;
  /** The name of a sample, for reports. */
  nameOf(sample: SampleId): string;
}

export interface SourceOptions {
  device: string;
  channelsLast: boolean;
  /** The normalization of pictures; by default ImageNet's. */
  colours?: Colours;
  /** How pictures of any shape become squares; the whole picture is resized by default. */
  framing?: Framing;
}

/** The draws of a batch. */
function drawAll(sizes: Int32Array, draw: DrawSample): Float32Array {
  const count = sizes.length / 2;
  const draws = new Float32Array(count * drawLength);
  for (let i = 0; i < count; i++)
    draw(i, sizes[2 * i], sizes[2 * i + 1], draws.subarray(i * drawLength, (i + 1) * drawLength));
  return draws;
}

/** Pictures from a store. */
export function pictureSource(
  dataset: PictureDataset,
  store: PictureStore,
  { device, channelsLast, colours = normalizations.imagenet, framing = {} }: SourceOptions,
): SampleSource<FoundPicture> {
  const size = squareSize(dataset);
  const { interpolation } = framing;
  if (deviceNamed(store.device) !== deviceNamed(device))
    throw new UsageError(
      `loader: the pictures were opened for ${store.device}, and the batches are to be on ${device}`,
    );
  const augment = device === "cpu" ? augmentOnHost : augmentOnDevice;
  return {
    find: (samples) => store.find(samples),
    expect: (found) => store.expect(found),
    plain: plainDrawOf(framing, size),
    make(found, draw) {
      const block = store.block(found);
      try {
        return augment(block, drawAll(block.sizes, draw), { size, channelsLast, interpolation, ...asArrays(colours) });
      } finally {
        if (block.owned) block.source?.dispose();
      }
    },
    nameOf: ({ domain, index }) => dataset.domains[domain].files[index],
  };
}

/** A picture: the path of its file, or the bytes. */
export type PictureInput = string | Uint8Array;

/** How pictures become what a network takes. */
export interface PictureShape extends Omit<DecodeOptions, "filter">, Colours, Framing {
  readonly inputShape: readonly number[];
  readonly channelsLast?: boolean;
}

/** Pictures that are given one by one, decoded on demand, on the host. */
export function givenPictures(
  pictures: readonly PictureInput[],
  { inputShape, mean, std, resize, interpolation, shortSide, upright, channelsLast }: PictureShape,
): Omit<SampleSource<DecodedPicture>, "nameOf" | "expect"> {
  const reading: Promise<unknown>[] = [];
  const decoding = { shortSide, filter: interpolation, upright, reportDamage: true };
  const decode = async (input: PictureInput, i: number): Promise<DecodedPicture> => {
    if (typeof input !== "string") return decodeBytes(input, `number ${i + 1}`, decoding);
    const bytes = readPicture(input);
    reading.push(bytes);
    return decodeBytes(await bytes, input, decoding);
  };
  const size = inputShape[1];
  const options = { size, channelsLast, interpolation, ...asArrays({ mean, std }) };
  return {
    plain: plainDrawOf({ resize }, size),
    // Once a file's bytes are here, the decoder's threads need nothing more from this one.
    started: () => Promise.allSettled(reading.splice(0)),
    find: (samples) =>
      samples.map(({ index }) =>
        decode(pictures[index], index).catch((error: unknown) => {
          if (error instanceof DataError) return { problem: error.message };
          throw error;
        }),
      ),
    make(found, draw) {
      const parts = found.map(({ pixels }) => pixels);
      const sizes = sizesOf(found);
      return augmentOnHost(hostBlock(parts, sizes), drawAll(sizes, draw), options);
    },
  };
}

/**
 * Arrays: generated pictures are processed like pictures, on the host; other arrays are unchanged, with bytes divided
 * by 255.
 */
export function arraySource(
  dataset: ArrayDataset,
  { device, channelsLast, colours = normalizations.imagenet }: SourceOptions,
): SampleSource<Uint8Array | Float32Array> {
  const { inputShape, augmentable, domains } = dataset;
  const size = augmentable ? squareSize(dataset) : 0;
  return {
    find: remembering(dataset),
    expect() {},
    plain: plainDrawOf({}, size),
    make: (found, draw) =>
      scope(() => {
        const made = augmentable ? augmented(found as Uint8Array[], draw) : stacked(found);
        return device === "cpu" ? made : made.toDevice(device, "float32", true);
      }),
    nameOf: ({ domain, index }) => `${domains[domain].name}/${index}`,
  };

  function augmented(pictures: readonly Uint8Array[], draw: DrawSample): Tensor {
    const sizes = new Int32Array(pictures.length * 2).fill(size);
    const options = { size, channelsLast, ...asArrays(colours) };
    return augmentOnHost(hostBlock(pictures, sizes), drawAll(sizes, draw), options);
  }

  function stacked(samples: readonly (Uint8Array | Float32Array)[]): Tensor {
    const length = inputShape.reduce((product, each) => product * each, 1);
    const values = new Float32Array(samples.length * length);
    for (const [i, sample] of samples.entries()) {
      checkLength(dataset, sample, length);
      const into = values.subarray(i * length, (i + 1) * length);
      if (sample instanceof Float32Array) into.set(sample);
      else channelsFirst(sample, inputShape[0], into);
    }
    return tensor(values, { shape: [samples.length, ...inputShape] });
  }
}

/** The maximum number of bytes of arrays that are kept, because some are expensive to create. */
const rememberedBytes = 2 ** 29;

/** Reads samples, and keeps them in memory up to the limit. */
function remembering({ domains }: ArrayDataset): (samples: readonly SampleId[]) => (Uint8Array | Float32Array)[] {
  const known = domains.map(({ count }) => new Array<Uint8Array | Float32Array | undefined>(count));
  let room = rememberedBytes;
  const read = ({ domain, index }: SampleId): Uint8Array | Float32Array => {
    const before = known[domain][index];
    if (before) return before;
    const sample = domains[domain].read(index);
    if (sample.byteLength <= room) {
      known[domain][index] = sample;
      room -= sample.byteLength;
    }
    return sample;
  };
  return (samples) => samples.map(read);
}

/** Throws if a sample does not have as many numbers as an input. */
export function checkLength({ id }: ArrayDataset, sample: ArrayLike<number>, length: number): void {
  if (sample.length !== length)
    throw new UsageError(`dataset ${id}: expected samples of ${length} numbers, got ${sample.length}`);
}

/** Converts bytes with interleaved channels to floats up to 1 with channels first. */
function channelsFirst(bytes: Uint8Array, channels: number, into: Float32Array): void {
  const plane = bytes.length / channels;
  for (let c = 0; c < channels; c++)
    for (let i = 0; i < plane; i++) into[c * plane + i] = bytes[i * channels + c] / 255;
}

function squareSize({ id, inputShape }: { id: string; inputShape: readonly number[] }): number {
  const [channels, height, width] = inputShape;
  if (inputShape.length !== 3 || channels !== 3 || height !== width)
    throw new UsageError(
      `dataset ${id}: augmentation makes square pictures of three channels, and its samples are [${inputShape.join(", ")}]`,
    );
  return height;
}
