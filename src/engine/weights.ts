/** Named tensors from a file of weights into the engine, and from the engine into a file. */

import { DataError, EngineError } from "../errors.js";
import { bytesOf } from "./arrays.js";
import { openWeights } from "./open-weights.js";
import { writeSafetensors } from "./safetensors.js";
import { scope } from "./scope.js";
import { elementCount, quoted, type StoredTensor } from "./stored-tensor.js";
import { type Tensor, tensorFromFile } from "./tensor.js";

/**
 * Reads all tensors of a safetensors file or a PyTorch state dict, each in row-major order in memory of its own, whatever
 * views and shared storages the file has. They belong to the scope the call is made in.
 */
export function readWeights(path: string, { device = "cpu" } = {}): Map<string, Tensor> {
  using file = openWeights(path);
  return scope(() => {
    const read = ([name, stored]: [string, StoredTensor]): [string, Tensor] => {
      try {
        const tensor = scope(() => load(file.fd, stored));
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

/** Only the bytes from a tensor's first element to its last are read, however large the storage it looks at. */
function load(fd: number, { dtype, shape, strides, offset, elementOffset }: StoredTensor): Tensor {
  const begin = offset + elementOffset * bytesOf(dtype);
  if (strides === undefined || elementCount(shape) === 0) return tensorFromFile(fd, begin, dtype, shape);
  const span = shape.reduce((last, size, i) => last + (size - 1) * strides[i], 0) + 1;
  const elements = tensorFromFile(fd, begin, dtype, [span]);
  return elements.asStrided(shape, strides).clone({ memory_format: "contiguous" });
}

/** Writes tensors as a safetensors file: complete or not at all, and the same bytes for the same tensors. */
export function writeWeights(
  path: string,
  tensors: ReadonlyMap<string, Tensor>,
  metadata: Readonly<Record<string, string>> = {},
): void {
  const stored = [...tensors].map(([name, tensor]) => ({
    name,
    dtype: tensor.dtype,
    shape: tensor.shape,
    bytes: () => tensor.bytes(),
  }));
  writeSafetensors(path, stored, metadata);
}
