/** Reads the elements of a stored tensor as plain numbers, one by one: slow, and independent of the engine. */
import { readSync } from "node:fs";
import { DTYPES, type DType } from "../src/engine/dtype.js";
import type { StoredTensor, WeightsFile } from "../src/engine/stored-tensor.js";

/** The elements in row-major order; a complex one as its two parts. */
export function readStored(
  file: WeightsFile,
  { dtype, shape, strides, offset, byteLength, elementOffset }: StoredTensor,
) {
  const bytes = Buffer.alloc(byteLength);
  if (readSync(file.fd, bytes, 0, byteLength, offset) !== byteLength) throw new Error("the range is not in the file");
  const steps = strides ?? shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1));
  let places = [elementOffset];
  for (const [i, size] of shape.entries()) {
    places = places.flatMap((place) => Array.from({ length: size }, (_, j) => place + j * steps[i]));
  }
  return places.flatMap((place) => element(bytes, dtype, place * DTYPES[dtype].bytes));
}

function element(bytes: Buffer, dtype: DType, at: number): number[] {
  const halfBits = () => bytes.readUInt16LE(at);
  switch (dtype) {
    case "float64":
      return [bytes.readDoubleLE(at)];
    case "float32":
      return [bytes.readFloatLE(at)];
    case "complex64":
      return [bytes.readFloatLE(at), bytes.readFloatLE(at + 4)];
    case "bfloat16":
      return [Buffer.from(Uint32Array.of(halfBits() << 16).buffer).readFloatLE()];
    case "float16":
      return [half(halfBits())];
    case "int64":
      return [Number(bytes.readBigInt64LE(at))];
    case "int32":
      return [bytes.readInt32LE(at)];
    case "int16":
      return [bytes.readInt16LE(at)];
    case "int8":
      return [bytes.readInt8(at)];
    case "uint16":
      return [halfBits()];
    case "uint8":
    case "bool":
      return [bytes[at]];
    default:
      throw new Error(`${dtype} is not read here`);
  }
}

/** IEEE 754 binary16, normal and subnormal numbers. */
function half(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  return (bits >> 15 ? -1 : 1) * (exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15));
}
