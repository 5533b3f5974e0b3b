/**
 * Reads and writes safetensors files according to the published format (https://github.com/huggingface/safetensors): an
 * 8-byte little-endian header length, a JSON header, then the data, which the tensors cover without gaps or overlaps.
 *
 * Reading locates the bytes of each tensor without reading them. Writing writes one tensor after the other to a
 * temporary file next to the target, and renames it when it is complete. Tensors are ordered as in the official writer,
 * so that equal tensors give equal files.
 */
import { UsageError } from "../errors.js";
import type { SourceFile } from "../files/file-bytes.js";
import { replaceFile } from "../files/replace-file.js";
import { DTYPES, type DType } from "./dtype.js";
import { HeaderFault, parseHeader } from "./safetensors-header.js";
import {
  elementCount,
  openWeightsFile,
  quoted,
  type StoredTensor,
  type WeightsContents,
  type WeightsFile,
} from "./stored-tensor.js";
import { identify } from "./weights-format.js";

/** The limit of the official reader. */
const LONGEST_HEADER = 100_000_000;

const DTYPE_OF_NAME = new Map(
  (Object.keys(DTYPES) as DType[]).map((dtype) => [DTYPES[dtype].safetensors as string, dtype]),
);

/**
 * These types are part of the format, but their elements are smaller than a byte, which tensors here do not support.
 */
const SUB_BYTE_DTYPES = new Set(["F4", "F6_E2M3", "F6_E3M2"]);

/** Opens a safetensors file and checks its whole header. */
export function openSafetensors(path: string): WeightsFile {
  return openWeightsFile(path, readSafetensors);
}

/** Finds the tensors in an opened file. */
export function readSafetensors(file: SourceFile): WeightsContents {
  const headerLength = file.read(0, 8, "the header length of a safetensors file").readBigUInt64LE();
  if (headerLength > LONGEST_HEADER) {
    const { format, look } = identify(file);
    if (format !== "safetensors")
      throw file.error(
        `expected a safetensors file, found ${look} (read as one, its header has ${headerLength} bytes)`,
      );
    throw file.error(`the header length reads ${headerLength} bytes; safetensors allows ${LONGEST_HEADER}`);
  }
  const dataStart = 8 + Number(headerLength);
  const bytes = file.read(8, Number(headerLength), "the safetensors header");
  if (bytes[0] !== 0x7b) throw file.error('the safetensors header must begin with "{"');
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw file.error("the safetensors header is not valid UTF-8", { cause });
  }
  try {
    const { metadata, entries } = parseHeader(text);
    const tensors = new Map<string, StoredTensor>();
    for (const [name, { dtype, shape, start, end }] of entries) {
      const place = { offset: dataStart + start, byteLength: end - start, elementOffset: 0 };
      tensors.set(name, { dtype: knownDtype(file, name, dtype), shape, ...place });
    }
    checkSizes(file, tensors);
    checkCover(file, tensors, dataStart);
    return { tensors, metadata };
  } catch (cause) {
    if (cause instanceof HeaderFault) throw file.error(`in the safetensors header, ${cause.message}`, { cause });
    throw cause;
  }
}

function knownDtype(file: SourceFile, name: string, written: string): DType {
  const dtype = DTYPE_OF_NAME.get(written);
  if (dtype !== undefined) return dtype;
  const why = SUB_BYTE_DTYPES.has(written)
    ? "its elements are smaller than a byte, which is not supported; convert it to a whole-byte type first"
    : `known are ${[...DTYPE_OF_NAME.keys()].join(", ")}`;
  throw file.error(`tensor ${quoted(name)} has the dtype ${quoted(written)}: ${why}`);
}

function checkSizes(file: SourceFile, tensors: ReadonlyMap<string, StoredTensor>): void {
  for (const [name, { dtype, shape, byteLength }] of tensors) {
    if (byteLength < 0) throw file.error(`tensor ${quoted(name)} ends before it begins`);
    const expected = (elementCount(shape) ?? Number.NaN) * DTYPES[dtype].bytes;
    if (!Number.isSafeInteger(expected)) throw file.error(`tensor ${quoted(name)}: the shape [${shape}] is too large`);
    if (byteLength !== expected) {
      throw file.error(
        `tensor ${quoted(name)}: ${dtype} of shape [${shape}] takes ${expected} bytes, data_offsets give ${byteLength}`,
      );
    }
  }
}

/** Checks that the tensors cover the data from its first byte to the end of the file, without gaps or overlaps. */
function checkCover(file: SourceFile, tensors: ReadonlyMap<string, StoredTensor>, dataStart: number): void {
  const inOrder = [...tensors].sort(([, a], [, b]) => a.offset - b.offset || a.byteLength - b.byteLength);
  let covered = dataStart;
  for (const [name, { offset, byteLength }] of inOrder) {
    if (offset < covered) throw file.error(`tensor ${quoted(name)} overlaps the one before it`);
    if (offset > covered) throw file.error(`a hole of ${offset - covered} bytes before tensor ${quoted(name)}`);
    covered = offset + byteLength;
    if (!(covered <= file.size)) {
      throw file.error(
        `tensor ${quoted(name)} ends at byte ${covered}, but the file has ${file.size} bytes: is the download complete?`,
      );
    }
  }
  if (covered < file.size) throw file.error(`${file.size - covered} bytes at the end belong to no tensor`);
}

/** A tensor to write. `bytes` is called once, when the tensor is written, and its result is not kept. */
export interface TensorToStore {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Returns the elements in row-major order, little-endian. */
  readonly bytes: () => Uint8Array;
}

/** The order of the official writer: largest alignment first, so that every tensor is aligned to its element size. */
const WRITING_ORDER = (
  "U64 I64 F64 C64 F32 U32 I32 BF16 F16 U16 I16 " + "F8_E5M2FNUZ F8_E4M3FNUZ F8_E8M0 F8_E4M3 F8_E5M2 I8 U8 BOOL"
).split(" ");

/**
 * Writes a safetensors file atomically. The same tensors give the same bytes, whatever their order.
 *
 * @example writeSafetensors("model.safetensors", [{ name: "weight", dtype: "float32", shape: [2], bytes: () => data }])
 */
export function writeSafetensors(
  path: string,
  tensors: Iterable<TensorToStore>,
  metadata: Readonly<Record<string, string>> = {},
): void {
  const rank = new Map(WRITING_ORDER.map((name, place) => [name, place]));
  const inOrder = [...tensors].map((tensor) => ({ tensor, key: Buffer.from(tensor.name) }));
  inOrder.sort(({ tensor: a, key: aKey }, { tensor: b, key: bKey }) => {
    return rank.get(DTYPES[a.dtype].safetensors)! - rank.get(DTYPES[b.dtype].safetensors)! || aKey.compare(bKey);
  });

  const fields: string[] = [];
  const notes = Object.entries(metadata).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  if (notes.length > 0) fields.push(`"__metadata__":{${notes.map(([key, text]) => noteField(path, key, text))}}`);
  const names = new Set(["__metadata__"]);
  let end = 0;
  for (const { tensor } of inOrder) {
    const { name, dtype, shape } = tensor;
    if (names.has(name)) throw new UsageError(`writing ${path}: the tensor name ${quoted(name)} is taken`);
    names.add(name);
    const start = end;
    end += sizeOf(path, tensor);
    const place = `"shape":[${shape}],"data_offsets":[${start},${end}]`;
    fields.push(`${jsonString(path, name)}:{"dtype":"${DTYPES[dtype].safetensors}",${place}}`);
  }

  const json = Buffer.from(`{${fields}}`);
  const header = Buffer.alloc(8 + Math.ceil(json.length / 8) * 8, " ");
  if (header.length - 8 > LONGEST_HEADER) {
    throw new UsageError(`writing ${path}: names and metadata take ${json.length} bytes, over ${LONGEST_HEADER}`);
  }
  header.writeBigUInt64LE(BigInt(header.length - 8));
  json.copy(header, 8);

  replaceFile(path, (write) => {
    write(header);
    for (const { tensor } of inOrder) {
      const bytes = tensor.bytes();
      const expected = sizeOf(path, tensor);
      if (bytes.byteLength !== expected) {
        throw new UsageError(
          `writing ${path}: tensor ${quoted(tensor.name)}, ${tensor.dtype}[${tensor.shape}], takes ${expected} bytes; ` +
            `${bytes.byteLength} were given`,
        );
      }
      write(bytes);
    }
  });
}

function sizeOf(path: string, { name, dtype, shape }: TensorToStore): number {
  const size = (elementCount(shape) ?? Number.NaN) * DTYPES[dtype].bytes;
  if (!Number.isSafeInteger(size)) {
    throw new UsageError(`writing ${path}: tensor ${quoted(name)} has the shape [${shape}], which is not a valid one`);
  }
  return size;
}

function noteField(path: string, key: string, text: string): string {
  if (typeof text !== "string") throw new UsageError(`writing ${path}: metadata ${quoted(key)} must be a string`);
  return `${jsonString(path, key)}:${jsonString(path, text)}`;
}

function jsonString(path: string, text: string): string {
  if (/\p{Surrogate}/u.test(text)) {
    throw new UsageError(`writing ${path}: ${quoted(text)} has half a surrogate pair and cannot be stored as UTF-8`);
  }
  return JSON.stringify(text);
}
