import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { safetensors, temporaryFiles, uint } from "../../tests/assemble-files.js";
import { readStored } from "../../tests/read-stored.js";
import { DataError, UsageError } from "../errors.js";
import { DTYPES, type DType } from "./dtype.js";
import { openSafetensors, type TensorToStore, writeSafetensors } from "./safetensors.js";

const file = temporaryFiles();
const folder = mkdtempSync(join(tmpdir(), "nudge-safetensors-"));
afterAll(() => rmSync(folder, { recursive: true }));
const target = join(folder, "model.safetensors");

const reference = new URL("../../tests/vectors/safetensors/all-dtypes.safetensors", import.meta.url).pathname;
/** The tensors that make_safetensors.py passes to the official library. */
const referenceTensors: TensorToStore[] = (Object.keys(DTYPES) as DType[]).flatMap((dtype) =>
  Object.entries({ 'ﬀ\n"\\': [0, 2], z: [2, 1], "😀": [], a: [3] }).map(([name, shape]) => {
    const count = (shape as number[]).reduce((a, b) => a * b, 1);
    const { bytes } = DTYPES[dtype];
    const data = Uint8Array.from({ length: count * bytes }, (_, i) => Math.floor(i / bytes));
    return { name: `${name} ${dtype}`, dtype, shape: shape as number[], bytes: () => data };
  }),
);

test("a file by the format's own library gives every type, shape and byte", () => {
  const opened = openSafetensors(reference);
  expect(opened.metadata).toEqual({ note: "é\u0001" });
  expect(opened.tensors.size).toBe(referenceTensors.length);
  const contents = readFileSync(reference);
  for (const { name, dtype, shape, bytes } of referenceTensors) {
    const { offset, byteLength, ...how } = opened.tensors.get(name)!;
    expect(how).toEqual({ dtype, shape, elementOffset: 0 });
    expect([...contents.subarray(offset, offset + byteLength)]).toEqual([...bytes()]);
  }
  opened.close();
});

test("the bytes written equal those of the format's own library, for any order of the tensors", () => {
  for (const tensors of [referenceTensors, referenceTensors.toReversed()]) {
    writeSafetensors(target, tensors, { note: "é\u0001" });
    expect(readFileSync(target).equals(readFileSync(reference))).toBe(true);
  }
});

test("metadata is sorted, and omitted if it is empty, so that the bytes depend only on the contents", () => {
  writeSafetensors(target, [], { b: "2", a: "1" });
  const first = readFileSync(target);
  writeSafetensors(target, [], { a: "1", b: "2" });
  expect(readFileSync(target).equals(first)).toBe(true);
  writeSafetensors(target, [], {});
  expect(readFileSync(target).toString("latin1")).toBe("\x08\0\0\0\0\0\0\0{}      ");
  const opened = openSafetensors(target);
  expect([opened.tensors.size, opened.metadata]).toEqual([0, {}]);
  opened.close();
});

test("values survive writing and reading", () => {
  const values = Float32Array.of(1.5, -2, Number.MAX_VALUE, 0.1);
  writeSafetensors(target, [
    { name: "x", dtype: "float32", shape: [2, 2], bytes: () => new Uint8Array(values.buffer) },
  ]);
  const opened = openSafetensors(target);
  expect(readStored(opened, opened.tensors.get("x")!)).toEqual([...values]);
  opened[Symbol.dispose]();
});

const f32 = (begin: number, end: number, shape: number[] = [(end - begin) / 4]) => ({
  dtype: "F32",
  shape,
  data_offsets: [begin, end],
});

function refusal(bytes: Uint8Array): string {
  const path = file(bytes);
  try {
    openSafetensors(path).close();
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    expect((error as Error).message.startsWith(`${path}: `)).toBe(true);
    return (error as Error).message.slice(path.length + 2);
  }
  throw new Error("the file was accepted");
}

test("a file put together by hand is read: padding, spaces, escapes, tensors in any order, names like __proto__", () => {
  const header =
    '{ "b\\u00e9": {"data_offsets":[8,8], "shape":[0], "dtype":"F32"},\n"__proto__":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"constructor":{"dtype":"U8","shape":[7],"data_offsets":[1,8]},"__metadata__":{"__proto__":"x"}}\t  ';
  const opened = openSafetensors(file(safetensors(header, 8)));
  expect([...opened.tensors.keys()]).toEqual(["bé", "__proto__", "constructor"]);
  expect(Object.entries(opened.metadata)).toEqual([["__proto__", "x"]]);
  expect(({} as Record<string, unknown>).dtype).toBeUndefined();
  opened.close();
});

test.each<[string, Uint8Array, RegExp]>([
  ["is empty", Buffer.alloc(0), /should be 8 bytes at byte 0, but the file has 0/],
  ["has no whole length", Buffer.alloc(7), /header length/],
  [
    "has a header beyond its end",
    Buffer.concat([uint(8, 100), Buffer.from("{}")]),
    /should be 100 bytes .* the file has 10/,
  ],
  ["has a header beyond the limit", Buffer.concat([uint(8, 100_000_001), Buffer.from("{}")]), /allows 100000000/],
  [
    "has the largest header length",
    Buffer.concat([uint(8, 2n ** 64n - 1n), Buffer.from("{}")]),
    /18446744073709551615/,
  ],
  ["has an empty header", safetensors(""), /must begin with "{"/],
  ["begins with a space", safetensors(" {}"), /must begin with "{"/],
  ["begins with a byte order mark", safetensors("\ufeff{}"), /must begin with "{"/],
  ["is no UTF-8", Buffer.concat([uint(8, 3), Buffer.from([0x7b, 0xff, 0x7d])]), /not valid UTF-8/],
  ["ends in the middle", safetensors('{"a"'), /"a": expected a ":", found the end/],
  ["has text behind the object", safetensors("{}{}"), /text after the end/],
  ["has a comma too many", safetensors('{"__metadata__":{},}'), /expected a string, found "}"/],
  ["has no key", safetensors("{1:2}"), /expected a string, found "1:2}"/],
  [
    "has a key twice",
    safetensors(`{"a":${JSON.stringify(f32(0, 4))},"a":${JSON.stringify(f32(0, 4))}}`, 4),
    /"a": this key appears twice/,
  ],
  [
    "has a key twice by an escape",
    safetensors('{"__metadata__":{"a":"1","\\u0061":"2"}}'),
    /"__metadata__"."a": this key appears twice/,
  ],
  ["has a field twice", safetensors('{"a":{"dtype":"F32","dtype":"F32"}}'), /"a"."dtype": this key appears twice/],
  [
    "has metadata that is no text",
    safetensors('{"__metadata__":{"a":1}}'),
    /"__metadata__"."a": expected a string, found "1}}"/,
  ],
  ["has metadata that is no object", safetensors('{"__metadata__":"a"}'), /"__metadata__": expected an object/],
  ["has a tensor that is no object", safetensors('{"a":[]}'), /"a": expected an object/],
  ["has a field the format does not know", safetensors('{"a":{"offset":1}}'), /"a"."offset": a tensor has only/],
  [
    "has a tensor without dtype",
    safetensors({ a: { ...f32(0, 4), dtype: undefined } }, 4),
    /"a": the field "dtype" is missing/,
  ],
  [
    "has a tensor without shape",
    safetensors({ a: { ...f32(0, 4), shape: undefined } }, 4),
    /"a": the field "shape" is missing/,
  ],
  [
    "has a tensor without offsets",
    safetensors({ a: { dtype: "F32", shape: [1] } }, 4),
    /"a": the field "data_offsets" must/,
  ],
  ["has one offset", safetensors({ a: { ...f32(0, 4), data_offsets: [0] } }, 4), /"a": the field "data_offsets" must/],
  ["has three offsets", safetensors({ a: { ...f32(0, 4), data_offsets: [0, 4, 4] } }, 4), /more than 2 numbers/],
  [
    "has an unknown dtype",
    safetensors({ a: { ...f32(0, 4), dtype: "F33" } }, 4),
    /tensor "a" has the dtype "F33": known are U8,/,
  ],
  [
    "has a dtype by a JavaScript name",
    safetensors({ a: { ...f32(0, 4), dtype: "toString" } }, 4),
    /dtype "toString": known/,
  ],
  [
    "has a sub-byte dtype",
    safetensors({ a: { ...f32(0, 4), dtype: "F4" } }, 4),
    /dtype "F4": its elements are smaller than a byte/,
  ],
  ["has a negative size", safetensors({ a: f32(0, 4, [-1]) }, 4), /"a"."shape": expected an integer .*, found "-1"/],
  ["has a fractional size", safetensors({ a: f32(0, 4, [1.5]) }, 4), /found "1.5"/],
  ["has a size in another spelling", safetensors('{"a":{"shape":[1e0]}}'), /found "1e0"/],
  ["has a size with a leading zero", safetensors('{"a":{"shape":[01]}}'), /found "01"/],
  ["has a size that no number holds", safetensors('{"a":{"shape":[9007199254740992]}}'), /found "9007199254740992"/],
  ["has a size that is text", safetensors('{"a":{"shape":["1"]}}'), /expected an integer .* found "\\""/],
  ["has too many dimensions", safetensors({ a: f32(0, 4, Array(65).fill(1)) }, 4), /"a"."shape": more than 64 numbers/],
  [
    "has a shape that overflows",
    safetensors({ a: f32(0, 0, [2 ** 31, 2 ** 31, 0]) }),
    /tensor "a": the shape .* is too large/,
  ],
  [
    "has a size in bytes that overflows",
    safetensors({ a: f32(0, 0, [2 ** 52]) }),
    /tensor "a": the shape .* is too large/,
  ],
  [
    "has a tensor that ends before it begins",
    safetensors({ a: f32(4, 0, [1]) }, 4),
    /tensor "a" ends before it begins/,
  ],
  [
    "has a tensor of the wrong length",
    safetensors({ a: f32(0, 8, [1]) }, 8),
    /"a": float32 of shape \[1\] takes 4 bytes, .* give 8/,
  ],
  ["has a tensor beyond its end", safetensors({ a: f32(0, 8) }, 4), /tensor "a" ends at byte \d+, .*download complete/],
  ["has overlapping tensors", safetensors({ a: f32(0, 8), b: f32(4, 12) }, 12), /tensor "b" overlaps/],
  ["has the same bytes twice", safetensors({ a: f32(0, 4), b: f32(0, 4) }, 4), /tensor "b" overlaps/],
  ["has an empty tensor inside another", safetensors({ a: f32(0, 8), b: f32(4, 4) }, 8), /tensor "b" overlaps/],
  ["has a hole at its front", safetensors({ a: f32(4, 8) }, 8), /a hole of 4 bytes before tensor "a"/],
  ["has a hole in its middle", safetensors({ a: f32(0, 4), b: f32(8, 12) }, 12), /a hole of 4 bytes before tensor "b"/],
  ["has bytes at its end", safetensors({ a: f32(0, 4) }, 5), /1 bytes at the end belong to no tensor/],
  ["has bytes and no tensor", safetensors({}, 5), /5 bytes at the end/],
  ["has a control character in a name", safetensors('{"a\n":1}'), /control character/],
  ["has a string without end", safetensors('{"a'), /does not end/],
  ["has a string that ends in an escape", safetensors('{"a\\"'), /does not end/],
  ["has an unknown escape", safetensors('{"\\x":1}'), /escape that JSON does not know/],
  ["has half a surrogate pair", safetensors('{"\\ud800":1}'), /half a surrogate pair/],
])("a file that %s is refused", (_, bytes, message) => {
  expect(refusal(bytes)).toMatch(message);
});

test("a very long name is cut in the message", () => {
  expect(refusal(safetensors({ ["n".repeat(10_000)]: { ...f32(0, 4), dtype: "?" } }, 4)).length).toBeLessThan(500);
});

const zeros = (name: string, count = 1): TensorToStore => ({
  name,
  dtype: "float32",
  shape: [count],
  bytes: () => new Uint8Array(4 * count),
});

test.each<[string, () => void, RegExp]>([
  ["a name twice", () => writeSafetensors(target, [zeros("a"), zeros("a")]), /name "a" is taken/],
  ["the metadata's name", () => writeSafetensors(target, [zeros("__metadata__")]), /name "__metadata__" is taken/],
  [
    "too few bytes",
    () => writeSafetensors(target, [{ ...zeros("a"), shape: [2] }]),
    /"a", float32\[2\], takes 8 bytes; 4 were/,
  ],
  [
    "a shape that is none",
    () => writeSafetensors(target, [{ ...zeros("a"), shape: [-1] }]),
    /"a" has the shape \[-1\]/,
  ],
  ["half a surrogate pair", () => writeSafetensors(target, [zeros("\ud800")]), /half a surrogate pair/],
  [
    "metadata that is no text",
    () => writeSafetensors(target, [], { a: 1 as unknown as string }),
    /metadata "a" must be a string/,
  ],
])("writing %s is refused, and the file that was there stays", (_, write, message) => {
  writeFileSync(target, "before");
  expect(write).toThrow(UsageError);
  expect(write).toThrow(message);
  expect(readFileSync(target, "utf8")).toBe("before");
  expect(readdirSync(folder)).toEqual(["model.safetensors"]);
});

test("the bytes of each tensor are requested once, in the order in which they are written", () => {
  const asked: string[] = [];
  const tensors = ["b", "a", "c"].map((name) => ({
    ...zeros(name),
    bytes: () => {
      asked.push(name);
      return new Uint8Array(4);
    },
  }));
  writeSafetensors(target, new Set(tensors).values());
  expect(asked).toEqual(["a", "b", "c"]);
});

test("if a tensor's bytes cannot be read, the error is thrown, the old file stays and no temporary file remains", () => {
  writeFileSync(target, "before");
  const failing: TensorToStore = {
    ...zeros("b"),
    bytes: () => {
      throw new RangeError("no bytes");
    },
  };
  expect(() => writeSafetensors(target, [zeros("a"), failing])).toThrow(new RangeError("no bytes"));
  expect(readFileSync(target, "utf8")).toBe("before");
  expect(readdirSync(folder)).toEqual(["model.safetensors"]);
});

test("a missing folder, or a folder in place of the file, is an error that contains the path", () => {
  const missing = join(folder, "missing", "x.safetensors");
  expect(() => writeSafetensors(missing, [])).toThrow(DataError);
  expect(() => writeSafetensors(missing, [])).toThrow(
    /x\.safetensors: could not be written: there is no folder .*missing$/,
  );
  expect(() => writeSafetensors(folder, [])).toThrow(/could not be written: EISDIR|EEXIST|ENOTEMPTY/);
  expect(existsSync(folder)).toBe(true);
});

test("thousands of tensors with megabytes of data are written and found again", () => {
  const tensors = Array.from({ length: 3000 }, (_, i) => zeros(`layer.${i}.weight`, 300));
  writeSafetensors(target, tensors);
  const opened = openSafetensors(target);
  expect(opened.tensors.size).toBe(3000);
  expect([...opened.tensors.values()].every(({ offset }) => offset % 4 === 0)).toBe(true);
  opened.close();
});
