/**
 * Tensors in files before they are read: the position of their bytes and their layout. The readers of all formats
 * (safetensors.ts, pth.ts) return these, and the engine reads the bytes directly into its tensors.
 */

import { SourceFile } from "../files/file-bytes.js";
import type { DType } from "./dtype.js";

/** A tensor in a file: the position of its bytes and its layout. Nothing has been read yet. */
export interface StoredTensor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** The strides in elements, relative to the storage; absent if contiguous. A stride of 0 is an expanded dimension. */
  readonly strides?: readonly number[];
  /** The byte range in the file of the raw, uncompressed, little-endian storage or tensor data. */
  readonly offset: number;
  readonly byteLength: number;
  /** The index of the first element inside that range. It is 0 except for a view of a shared storage. */
  readonly elementOffset: number;
}

/** The contents of a file of named tensors. */
export interface WeightsContents {
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** An opened file of named tensors. Call `close()` or declare it with `using`. */
export interface WeightsFile extends WeightsContents {
  readonly path: string;
  readonly fd: number;
  close(): void;
  [Symbol.dispose](): void;
}

/** More dimensions than most operators of libtorch support, so no real tensor has more. */
export const MOST_DIMENSIONS = 64;

/**
 * Returns the number of elements of a shape, or undefined for an invalid shape: sizes that are not integers of at least
 * 0, too many dimensions, or a product of sizes (with zeros counted as one, as for strides) that JavaScript numbers
 * cannot represent exactly.
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

/** Quotes and truncates a name from a file for an error message. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 120 ? `${name.slice(0, 120)}…` : name);
}

/** Opens `path`, calls `read` to find its tensors, and closes the file if that fails. */
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
