/**
 * Pictures to tensors, as the evaluations of a training run make them: decoded, turned upright where asked, scaled down to
 * the short side, resized to exactly the input's size, normalised. Batches come in order; while one is worked on the next is
 * decoded, and no more than those two are in memory, however many pictures there are.
 */

import { augmentOnHost, drawLength, plainDraw } from "../data/augment.js";
import { type DecodedPicture, type DecodeOptions, decodeBytes, decodeFile, decodersAtOnce } from "../data/decode.js";
import { startsOf } from "../data/file-pictures.js";
import { keep, scope } from "../engine/scope.js";
import { type Tensor, tensor } from "../engine/tensor.js";
import { DataError } from "../errors.js";
import type { Preprocessing } from "./about.js";

/** A picture: its file's path, or the file's bytes. */
export type PictureInput = string | Uint8Array;

type ForPictures = Extract<Preprocessing, { kind: "pictures" }>;

/** A batch of pictures that could be read, and why others could not. Dispose of it when it is done with. */
export interface PictureBatch extends Disposable {
  /** float32 [n, 3, height, width] on the CPU; null where none of them could be read. */
  readonly x: Tensor | null;
  /** The place of each row among all pictures given. */
  readonly places: readonly number[];
  /** Pictures that could not be read, by their place. */
  readonly problems: ReadonlyMap<number, DataError>;
  /** Pictures whose files end early: read as far as they go. */
  readonly truncated: readonly number[];
}

/** The pictures in batches, in order. */
export async function* pictureBatches(
  pictures: readonly PictureInput[],
  preprocessing: ForPictures,
  { batchSize, upright }: { batchSize: number; upright: boolean },
): AsyncGenerator<PictureBatch, void, undefined> {
  const decode = (from: number): Promise<Decoded[]> => {
    const options = { shortSide: preprocessing.shortSide, upright };
    const batch = decodeAll(pictures, from, Math.min(pictures.length, from + batchSize), options);
    batch.catch(() => {}); // it is awaited below, or the caller has turned away
    return batch;
  };
  let next = decode(0);
  for (let from = 0; from < pictures.length; from += batchSize) {
    const decoded = await next;
    next = decode(from + batchSize);
    yield toBatch(decoded, preprocessing);
  }
}

type Decoded = { readonly place: number } & ({ readonly picture: DecodedPicture } | { readonly problem: DataError });

/** Decodes a range of pictures, a few at once. */
async function decodeAll(
  pictures: readonly PictureInput[],
  from: number,
  to: number,
  options: DecodeOptions,
): Promise<Decoded[]> {
  const decoded: Decoded[] = new Array(Math.max(0, to - from));
  let next = from;
  const work = async (): Promise<void> => {
    while (next < to) {
      const place = next++;
      decoded[place - from] = await decodeOne(pictures[place], place, options);
    }
  };
  await Promise.all(Array.from({ length: decodersAtOnce }, work));
  return decoded;
}

async function decodeOne(input: PictureInput, place: number, options: DecodeOptions): Promise<Decoded> {
  try {
    const picture =
      typeof input === "string"
        ? await decodeFile(input, options)
        : await decodeBytes(input, `number ${place + 1}`, options);
    return { place, picture };
  } catch (problem) {
    if (problem instanceof DataError) return { place, problem };
    throw problem;
  }
}

function toBatch(decoded: readonly Decoded[], preprocessing: ForPictures): PictureBatch {
  const found = decoded.flatMap((each) => ("picture" in each ? [each] : []));
  const lost = decoded.flatMap((each) => ("problem" in each ? [[each.place, each.problem] as const] : []));
  const x =
    found.length === 0
      ? null
      : pictureTensor(
          found.map(({ picture }) => picture),
          preprocessing,
        );
  return {
    x,
    places: found.map(({ place }) => place),
    problems: new Map(lost),
    truncated: found.filter(({ picture }) => picture.truncated).map(({ place }) => place),
    [Symbol.dispose]: () => x?.dispose(),
  };
}

/** Decoded pictures as the network takes them, float32 [n, 3, height, width]; kept until it is disposed of. */
export function pictureTensor(pictures: readonly DecodedPicture[], { inputShape, mean, std }: ForPictures): Tensor {
  return scope(() => {
    const draws = new Float32Array(pictures.length * drawLength);
    for (const [i, { width, height }] of pictures.entries())
      plainDraw(width, height, draws.subarray(i * drawLength, (i + 1) * drawLength));
    const block = {
      source: tensor(Buffer.concat(pictures.map(({ pixels }) => pixels))),
      offsets: startsOf(Float64Array.from(pictures, ({ pixels }) => pixels.length)),
      sizes: Int32Array.from(pictures.flatMap(({ width, height }) => [width, height])),
    };
    const colours = { mean: Float32Array.from(mean), std: Float32Array.from(std) };
    return keep(augmentOnHost(block, draws, { size: inputShape[1], ...colours }));
  });
}
