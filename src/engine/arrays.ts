/** Conversion between JavaScript arrays and tensor elements. */

import { EngineError, UsageError } from "../errors.js";
import { DTYPES, type DType } from "./dtype.js";

/** Typed arrays that can hold tensor elements. */
export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** Numbers in nested arrays. The nesting depth is the number of dimensions. */
export type Nested = number | boolean | readonly Nested[];

const ARRAYS: Partial<Record<DType, new (length: number) => TypedArray>> = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

/** Returns the size of an element in bytes. */
export function bytesOf(dtype: DType): number {
  const known = DTYPES[dtype];
  if (!known) throw new EngineError(`elements of type ${dtype} have no form outside libtorch`);
  return known.bytes;
}

/** Creates a typed array for this number of elements, or returns undefined if JavaScript has no such type. */
export function arrayFor(dtype: DType, length: number): TypedArray | undefined {
  const Type = ARRAYS[dtype];
  try {
    return Type && new Type(length);
  } catch (cause) {
    throw new EngineError(`${length} elements of ${dtype} are more than an array of JavaScript's holds`, "", [], {
      cause,
    });
  }
}

/** Throws an error if the memory of an array was transferred to another thread. Such an array looks empty. */
export function checkAttached(array: TypedArray): void {
  if (array.length > 0) return;
  try {
    new Uint8Array(array.buffer); // throws on a detached buffer; Node 20 has no other way to check
  } catch (cause) {
    throw new UsageError("tensor: the array's buffer has been detached (it was transferred)", { cause });
  }
}

/**
 * Returns the dtype of a typed array's elements. `asked` may name another dtype of the same size (bfloat16 in a
 * Uint16Array).
 */
export function dtypeOf(array: TypedArray, asked?: DType): DType {
  const found = Object.entries(ARRAYS).find(([dtype, Type]) => dtype !== "bool" && array instanceof Type);
  const own = (found?.[0] ?? (array instanceof Uint8ClampedArray ? "uint8" : undefined)) as DType | undefined;
  if (!own) throw new UsageError(`tensor: a ${array.constructor.name} cannot hold tensor elements`);
  const bitPattern = asked === "float16" || asked === "bfloat16" || asked === "bool" || asked?.startsWith("float8");
  return asked && bitPattern && bytesOf(asked) === array.BYTES_PER_ELEMENT && own.startsWith("uint") ? asked : own;
}

/**
 * The ranges of the integer dtypes. For int64 it is the range of integers that JavaScript numbers represent exactly.
 */
const RANGES: Partial<Record<DType, readonly [number, number]>> = {
  uint8: [0, 2 ** 8 - 1],
  int8: [-(2 ** 7), 2 ** 7 - 1],
  int16: [-(2 ** 15), 2 ** 15 - 1],
  uint16: [0, 2 ** 16 - 1],
  int32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  uint64: [0, Number.MAX_SAFE_INTEGER],
};

/** No operator takes deeper nesting. An array that contains itself exceeds this depth. */
const MAX_DEPTH = 64;

/** Flattens nested arrays. Numbers are stored as float64 (or int64 if requested), and the engine converts them. */
export function flatten(
  data: Nested,
  asked?: DType,
): { values: TypedArray; shape: number[]; stored: DType; dtype: DType } {
  const shape: number[] = [];
  let probe: Nested | undefined = data;
  while (Array.isArray(probe)) {
    if (shape.length === MAX_DEPTH) throw new UsageError(`tensor: arrays nested more than ${MAX_DEPTH} deep`);
    shape.push(probe.length);
    probe = probe[0] as Nested | undefined;
  }
  const count = shape.reduce((product, size) => product * size, 1);
  const range = asked && RANGES[asked];
  const wide = asked === "int64";
  const values = wide ? new BigInt64Array(count) : new Float64Array(count);
  let next = 0;
  const visit = (value: Nested, depth: number): void => {
    if (Array.isArray(value)) {
      if (value.length !== shape[depth]) {
        throw new UsageError(`tensor: rows differ in length: ${value.length} after ${shape[depth] ?? "a number"}`);
      }
      for (const item of value) visit(item as Nested, depth + 1);
      return;
    }
    if (depth !== shape.length) throw new UsageError("tensor: numbers stand at different depths");
    if (typeof value !== "number" && typeof value !== "boolean") {
      throw new UsageError(`tensor: expected numbers, got ${value === null ? "null" : typeof value}`);
    }
    const number = Number(value);
    if (range && !(Number.isInteger(number) && number >= range[0] && number <= range[1])) {
      throw new UsageError(`tensor: ${value} is not an integer that ${asked} holds`);
    }
    values[next++] = wide ? BigInt(number) : number;
  };
  visit(data, 0);
  const stored = wide ? "int64" : "float64";
  return { values, shape, stored, dtype: asked ?? (typeof probe === "boolean" ? "bool" : "float32") };
}

/** Nests a flat list of numbers into a shape. */
export function nest(values: readonly number[], shape: readonly number[]): Nested {
  if (shape.length === 0) return values[0];
  const [size, ...rest] = shape;
  const step = rest.reduce((product, n) => product * n, 1);
  return Array.from({ length: size }, (_, i) => nest(values.slice(i * step, (i + 1) * step), rest));
}
