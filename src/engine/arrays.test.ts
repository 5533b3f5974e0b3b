import { expect, test } from "vitest";
import { EngineError, UsageError } from "../errors.js";
import { arrayFor, bytesOf, dtypeOf, flatten, nest } from "./arrays.js";
import type { DType } from "./dtype.js";

test("nested arrays are laid out in a row, with their shape", () => {
  const { values, shape, stored, dtype } = flatten([
    [
      [1, 2],
      [3, 4],
    ],
  ]);
  expect([Array.from(values as Float64Array), shape, stored, dtype]).toEqual([
    [1, 2, 3, 4],
    [1, 2, 2],
    "float64",
    "float32",
  ]);
  expect(flatten([true, false]).dtype).toBe("bool");
  expect(flatten([1], "int64").values).toEqual(BigInt64Array.of(1n));
});

test("nest undoes flatten", () => {
  const data = [
    [[1], [2], [3]],
    [[4], [5], [6]],
  ];
  const { values, shape } = flatten(data);
  expect(nest(Array.from(values as Float64Array), shape)).toEqual(data);
  expect(nest([7], [])).toBe(7);
  expect(nest([], [2, 0])).toEqual([[], []]);
});

const cyclic: unknown[] = [];
cyclic.push(cyclic);

test.for<[string, unknown, DType | undefined, string]>([
  ["rows of different lengths", [[1, 2], [3]], undefined, "rows differ in length: 1 after 2"],
  ["a row after an empty one", [[], [1]], undefined, "rows differ in length: 1 after 0"],
  ["a row after a number", [1, [2]], undefined, "rows differ in length: 1 after a number"],
  ["a number after a row", [[1], 2], undefined, "numbers stand at different depths"],
  ["a string", [1, "2"], undefined, "expected numbers, got string"],
  ["null", [null], undefined, "expected numbers, got null"],
  ["a hole", [1, undefined, 3], undefined, "expected numbers, got undefined"],
  ["a bigint", [1n], undefined, "expected numbers, got bigint"],
  ["a symbol", [Symbol("s")], undefined, "expected numbers, got symbol"],
  ["an array that holds itself", cyclic, undefined, "nested more than 64 deep"],
  ["a fraction for an integer", [1.5], "int32", "1.5 is not an integer that int32 holds"],
  ["NaN for an integer", [Number.NaN], "int64", "NaN is not an integer that int64 holds"],
  ["infinity for an integer", [Number.POSITIVE_INFINITY], "uint8", "Infinity is not an integer that uint8 holds"],
  ["a number too large", [256], "uint8", "256 is not an integer that uint8 holds"],
  ["a number too small", [-129], "int8", "-129 is not an integer that int8 holds"],
  ["an integer beyond 2^53", [2 ** 53], "int64", "9007199254740992 is not an integer that int64 holds"],
])("%s is refused", ([, data, dtype, message]) => {
  expect(() => flatten(data as never, dtype)).toThrow(UsageError);
  expect(() => flatten(data as never, dtype)).toThrow(message);
});

test("typed arrays tell their dtype; the bits of others come in unsigned arrays of their size", () => {
  expect(dtypeOf(new Float32Array(1))).toBe("float32");
  expect(dtypeOf(Buffer.from([1]))).toBe("uint8");
  expect(dtypeOf(new Uint8ClampedArray(1))).toBe("uint8");
  expect(dtypeOf(new BigUint64Array(1))).toBe("uint64");
  expect(dtypeOf(new Uint16Array(1), "bfloat16")).toBe("bfloat16");
  expect(dtypeOf(new Uint8Array(1), "float8_e4m3fn")).toBe("float8_e4m3fn");
  expect(dtypeOf(new Int16Array(1), "bfloat16")).toBe("int16"); // numbers to convert, not bit patterns
  expect(dtypeOf(new Uint8Array(1), "bfloat16")).toBe("uint8");
  expect(() => dtypeOf(new DataView(new ArrayBuffer(8)) as never)).toThrow("a DataView cannot hold tensor elements");
});

test("arrays of the right type and size, an error where there can be none", () => {
  expect(arrayFor("int16", 3)).toEqual(new Int16Array(3));
  expect(arrayFor("bfloat16", 3)).toBeUndefined();
  expect(() => arrayFor("float32", 2 ** 45)).toThrow(EngineError);
  expect([bytesOf("float64"), bytesOf("bool")]).toEqual([8, 1]);
  expect(() => bytesOf("quint8" as DType)).toThrow("elements of type quint8 have no form outside libtorch");
});
