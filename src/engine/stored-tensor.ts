/**
 * Tensors in files, before anything is read: which bytes they are and how to look at them. The readers of every format
 * (safetensors.ts, pth.ts) hand these out, and the engine reads the bytes straight into its tensors.
 */

import { SourceFile } from "../files/file-bytes.js";
import type { DType } from "./dtype.js";

/** A tensor in a file: where its bytes are and how to look at them; nothing has been read yet. */
export interface StoredTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** In elements, relative to the storage; absent when contiguous. A stride of 0 repeats (an expanded tensor). */
  readonly strides?: readonly number[];
  /** Byte range in the file of the raw, uncompressed, little-endian storage or tensor data. */
  readonly offset: number;
  readonly byteLength: number;
  /** The first element inside that range, in elements (0 unless a view of a shared storage). */
  readonly elementOffset: number;
}

/** What a file of named tensors holds. */
export interface WeightsContents {
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** An opened file of named tensors; `close()` it, or hold it with `using`. */
export interface WeightsFile extends WeightsContents {
  readonly path: string;
  readonly fd: number;
  close(): void;
  [Symbol.dispose](): void;
}

/** Beyond libtorch's own limit for most operators, so no real tensor has more. */
export const MOST_DIMENSIONS = 64;

/**
 * How many elements a shape has, or undefined when it is no shape: not whole numbers from 0 up, too many dimensions, or
 * sizes whose product (zeros counted as one, as strides count them) no JavaScript number holds exactly.
 */
export function elementCount(shape: readonly number[]): number | undefined {
  if (shape.length > MOST_DIMENSIONS) return undefined;
  let count = 1;
  let span = 1;
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0) return undefined;
    count *= size;
    span *= Math.max(size, 1);
    if (!Number.isSafeInteger(span)) return undefined;
  }
  return count;
}

/** A name from a file, quoted and cut for an error message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 120 ? `${name.slice(0, 120)}…` : name);
}

/** Opens `path`, lets `read` find its tensors, and closes it again when that fails. */
export function openWeightsFile(path: string, read: (file: SourceFile) => WeightsContents): WeightsFile {
  const file = SourceFile.open(path);
  try {
    const { tensors, metadata } = read(file);
    const close = () => file.close();
    return { path, fd: file.fd, tensors, metadata, close, [Symbol.dispose]: close };
  } catch (error) {
    file.close();
    throw error;
  }
}
