/** Between JavaScript's arrays and tensors' elements. */

import { UsageError } from "../errors.js";
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
  | BigInt64Array;

/** Numbers nested in arrays, as deep as the tensor has dimensions. */
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
  bool: Uint8Array,
};

/** Bytes an element takes. */
export const bytesOf = (dtype: DType): number => DTYPES[dtype].bytes;

/** A typed array for that many elements, or undefined where JavaScript has none for the dtype. */
export function arrayFor(dtype: DType, length: number): TypedArray | undefined {
  const Type = ARRAYS[dtype];
  return Type && new Type(length);
}

/** The dtype of a typed array's elements; `asked` may name another of the same size (bfloat16 in a Uint16Array). */
export function dtypeOf(array: TypedArray, asked?: DType): DType {
  const found = Object.entries(ARRAYS).find(([dtype, Type]) => dtype !== "bool" && array instanceof Type);
  const own = (found?.[0] ?? (array instanceof Uint8ClampedArray ? "uint8" : undefined)) as DType | undefined;
  if (!own) throw new UsageError(`tensor: a ${array.constructor.name} cannot hold tensor elements`);
  const bitPattern = asked === "float16" || asked === "bfloat16" || asked === "bool" || asked?.startsWith("float8");
  return asked && bitPattern && bytesOf(asked) === array.BYTES_PER_ELEMENT && own.startsWith("uint") ? asked : own;
}

/** Nested arrays laid out in a row. Numbers go as float64 (or int64, when that is asked for); the engine converts. */
export function flatten(
  data: Nested,
  asked?: DType,
): { values: TypedArray; shape: number[]; stored: DType; dtype: DType } {
  const shape: number[] = [];
  let probe: Nested | undefined = data;
  while (Array.isArray(probe)) {
    shape.push(probe.length);
    probe = probe[0] as Nested | undefined;
  }
  const count = shape.reduce((product, size) => product * size, 1);
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
    if (wide) {
      if (!Number.isSafeInteger(Number(value))) throw new UsageError(`tensor: ${value} is not an integer`);
      values[next++] = BigInt(value);
    } else {
      values[next++] = Number(value);
    }
  };
  visit(data, 0);
  const stored = wide ? "int64" : "float64";
  return { values, shape, stored, dtype: asked ?? (typeof probe === "boolean" ? "bool" : "float32") };
}

/** Numbers in a row, nested to a shape. */
export function nest(values: readonly number[], shape: readonly number[]): Nested {
  if (shape.length === 0) return values[0];
  const [size, ...rest] = shape;
  const step = rest.reduce((product, n) => product * n, 1);
  return Array.from({ length: size }, (_, i) => nest(values.slice(i * step, (i + 1) * step), rest));
}
