/** Loads named tensors from a weight file, and writes them to a file. */

import { crc32 } from "node:zlib";
import { DataError, EngineError } from "../errors.js";
import { bytesOf } from "./arrays.js";
import { openWeights } from "./open-weights.js";
import { writeSafetensors } from "./safetensors.js";
import { scope } from "./scope.js";
import { elementCount, quoted, type StoredTensor } from "./stored-tensor.js";
import { type Tensor, tensorFromFile } from "./tensor.js";

/**
 * Reads all tensors of a safetensors file or a PyTorch state dict. Each is contiguous in its own memory, even if the
 * file contains views or shared storages. They belong to the current scope.
 */
export function readWeights(path: string, { device = "cpu" } = {}): Map<string, Tensor> {
  using file = openWeights(path);
  const sums = checksumsIn(path, file.metadata);
  return scope(() => {
    const read = ([name, stored]: [string, StoredTensor]): [string, Tensor] => {
      try {
        const tensor = scope(() => load(file.fd, stored));
        if (sums) check(path, `tensor ${quoted(name)}`, tensor.bytes(), sums.tensors[name]);
        return [name, device === "cpu" ? tensor : tensor.to({ device })];
      } catch (cause) {
        if (!(cause instanceof EngineError)) throw cause;
        const what = `tensor ${quoted(name)}, ${stored.dtype}[${stored.shape.join(", ")}]`;
        throw new DataError(`${path}: ${what}, could not be read into the engine: ${cause.message}`, { cause });
      }
    };
    return new Map([...file.tensors].map(read));
  });
}

/** Reads a tensor. Only the bytes from its first to its last element are read, even if its storage is larger. */
function load(fd: number, { dtype, shape, strides, offset, elementOffset }: StoredTensor): Tensor {
  const start = offset + elementOffset * bytesOf(dtype);
  if (strides === undefined || elementCount(shape) === 0) return tensorFromFile(fd, start, dtype, shape);
  const span = shape.reduce((last, size, i) => last + (size - 1) * strides[i], 0) + 1;
  const elements = tensorFromFile(fd, start, dtype, [span]);
  return elements.asStrided(shape, strides).clone({ memory_format: "contiguous" });
}

/** The metadata key of the checksums: JSON with CRC-32 numbers by the names of tensors and of other metadata. */
const CHECKSUMS = "crc32";

interface Checksums {
  readonly tensors: Readonly<Record<string, number>>;
  readonly metadata: Readonly<Record<string, number>>;
}

/** Returns the checksums of a file if it has any, and checks those of the metadata. */
function checksumsIn(path: string, metadata: Readonly<Record<string, string>>): Checksums | undefined {
  const text = metadata[CHECKSUMS];
  if (text === undefined) return undefined;
  let sums: Partial<Checksums> | null;
  try {
    sums = JSON.parse(text) as Partial<Checksums> | null;
  } catch (cause) {
    throw new DataError(`${path}: the file is damaged: its checksums are not JSON`, { cause });
  }
  const { tensors, metadata: ofMetadata } = sums ?? {};
  if (typeof tensors !== "object" || typeof ofMetadata !== "object")
    throw new DataError(`${path}: the file is damaged: its checksums are not those of tensors and metadata`);
  for (const [name, value] of Object.entries(metadata))
    if (name !== CHECKSUMS) check(path, `metadata ${quoted(name)}`, value, ofMetadata[name]);
  return { tensors, metadata: ofMetadata };
}

function check(path: string, what: string, data: Uint8Array | string, expected: number | undefined): void {
  const found = crc32(data);
  if (found !== expected)
    throw new DataError(
      `${path}: the file is damaged: ${what} has the checksum ${found}, and ${expected ?? "none"} is written in the file`,
    );
}

export interface WriteWeightsOptions {
  /**
   * Whether to store checksums of all tensors and metadata in the file, which `readWeights` compares. The default is
   * true.
   */
  checksums?: boolean;
}

/** Writes tensors to a safetensors file atomically. The same tensors give the same bytes. */
export function writeWeights(
  path: string,
  tensors: ReadonlyMap<string, Tensor>,
  given: Readonly<Record<string, string>> = {},
  { checksums = true }: WriteWeightsOptions = {},
): void {
  const { [CHECKSUMS]: _, ...metadata } = given;
  if (checksums) {
    const sums: Checksums = {
      // Sort the names, so that the same tensors give the same bytes in any order.
      tensors: Object.fromEntries([...tensors.keys()].sort().map((name) => [name, crc32(tensors.get(name)!.bytes())])),
      metadata: Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, crc32(value)])),
    };
    Object.assign(metadata, { [CHECKSUMS]: JSON.stringify(sums) });
  }
  const stored = [...tensors].map(([name, tensor]) => ({
    name,
    dtype: tensor.dtype,
    shape: tensor.shape,
    bytes: () => tensor.bytes(),
  }));
  writeSafetensors(path, stored, metadata);
}
