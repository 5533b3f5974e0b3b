import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as make from "../../tests/assemble-files.js";
import { readStored } from "../../tests/read-stored.js";
import { DataError } from "../errors.js";
import { openPth } from "./pth.js";

const vectors = new URL("../../tests/vectors/pth/", import.meta.url).pathname;
const file = make.temporaryFiles();
const floats = (...values: number[]) => Buffer.from(Float32Array.from(values).buffer);

function refusal(bytes: Uint8Array): string {
  const path = file(bytes);
  try {
    openPth(path).close();
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    expect((error as Error).message.startsWith(`${path}: `)).toBe(true);
    return (error as Error).message.slice(path.length + 2);
  }
  throw new Error("the file was accepted");
}

function values(path: string): Record<string, number[]> {
  const opened = openPth(path);
  try {
    return Object.fromEntries([...opened.tensors].map(([name, stored]) => [name, readStored(opened, stored)]));
  } finally {
    opened.close();
  }
}

test.each(["zip.pth", "legacy.pth"])("%s, saved by PyTorch, has the tensors PyTorch sees in it", (name) => {
  interface Expected {
    dtype: string;
    shape: number[];
    contiguous: boolean;
    values: number[];
  }
  const expected: Record<string, Expected> = JSON.parse(readFileSync(`${vectors}expected.json`, "utf8"));
  const opened = openPth(vectors + name);
  expect([...opened.tensors.keys()]).toEqual(Object.keys(expected));
  for (const [key, stored] of opened.tensors) {
    const { dtype, shape, contiguous, values } = expected[key];
    expect({ key, dtype: stored.dtype, shape: stored.shape }).toEqual({ key, dtype, shape });
    expect({ key, contiguous: stored.strides === undefined }).toEqual({ key, contiguous });
    expect({ key, values: readStored(opened, stored) }).toEqual({ key, values }); // exactly equal, because only bytes are copied
  }
  // The views share the bytes of their base.
  const [base, row] = [opened.tensors.get("base")!, opened.tensors.get("row")!];
  expect([row.offset, row.byteLength, row.elementOffset]).toEqual([base.offset, 48, 4]);
  opened.close();
});

test.each(readdirSync(vectors).filter((name) => name.includes("-protocol-")))("%s gives its two tensors", (name) => {
  expect(values(vectors + name)).toEqual({ weight: [1, 2], steps: [5] });
});

test("a DomainBed checkpoint is read by its model_dict, an ImageNet one by its state_dict", () => {
  expect(values(`${vectors}domainbed.pth`)).toEqual({ weight: [1, 2], steps: [5] });
  expect(Object.keys(values(`${vectors}checkpoint.pth`))).toEqual(["weight", "bias"]);
});

test.each([
  ["quantized.pth", /_rebuild_qtensor: a quantized tensor/],
  ["sparse.pth", /sparse.*: a sparse tensor/],
  ["meta.pth", /_rebuild_meta_tensor_no_storage: a tensor on the meta device/],
  ["complex128.pth", /torch\.ComplexDoubleStorage: a complex tensor/],
  ["module.pth", /asks to run torch\.nn\.modules\.linear\.Linear; only tensors/],
  ["tensor.pth", /expected a dict of tensors, found torch\.Tensor/],
  ["script.pt", /no state dict: .* an empty dict/], // a TorchScript program without weights
])("%s is refused by name", (name, message) => {
  expect(() => openPth(vectors + name)).toThrow(message);
  expect(() => openPth(vectors + name)).toThrow(DataError);
});

const one = make.tensor(make.storage("0", make.int(3)), [3], [1]);

test("both formats put together by hand are read", () => {
  expect(values(file(make.zipPth(make.dict({ a: one }), { 0: floats(1, 2, 3) })))).toEqual({ a: [1, 2, 3] });
  expect(values(file(make.legacyPth(make.dict({ a: one }), { 0: [3, floats(1, 2, 3)] })))).toEqual({ a: [1, 2, 3] });
});

test("a file as torch 2 writes it, with newer types on untyped storages, is read", () => {
  const untyped = make.storage("0", make.int(6), { module: "torch.storage", type: "UntypedStorage" });
  const sizes = [make.int(1), make.tuple(make.int(2)), make.tuple(make.int(1)), "\x89", "N"];
  const rebuilt = make.call(
    make.global("torch._utils", "_rebuild_tensor_v3"),
    untyped,
    ...sizes,
    make.global("torch", "uint16"),
  );
  const attributes = make.call(
    make.global("torch._tensor", "_rebuild_from_type_v2"),
    ...[make.global("torch._utils", "_rebuild_tensor_v2"), make.global("torch", "Tensor")],
    ...[
      make.tuple(make.storage("0", make.int(6), { type: "ByteStorage" }), make.int(0), make.tuple(), make.tuple()),
      "}",
    ],
  );
  const extra = {
    byteorder: "little",
    ".format_version": "1",
    ".storage_alignment": "64",
    ".data/serialization_id": "1",
  };
  const bytes = make.zipPth(make.dict({ a: rebuilt, b: attributes }), { 0: Buffer.from([1, 0, 2, 1, 3, 0]) }, extra);
  expect(values(file(bytes))).toEqual({ a: [258, 3], b: [1] });
});

test("a file as torch wrote it under Python 2, a list of pairs with byte strings, is read", () => {
  const pairs = make.list(make.list(make.concat("U\x01a"), one));
  const old = make.call(make.global("collections", "OrderedDict"), pairs);
  expect(values(file(make.legacyPth(old, { 0: [3, floats(1, 2, 3)] })))).toEqual({ a: [1, 2, 3] });
});

test("what a pickle asks to run is refused by name before anything else", () => {
  const evil = make.call(make.global("os", "system"), make.text("echo gone"));
  expect(refusal(make.zipPth(make.dict({ a: one, b: evil }), { 0: floats(1, 2, 3) }))).toMatch(
    /asks to run os\.system; only/,
  );
  expect(refusal(make.legacyPth(make.dict({ b: evil }), {}))).toMatch(/asks to run os\.system; only/);
  const inHeader = make.legacyPth(make.dict({}), {}, { magic: make.concat("\x8c\x02os\x8c\x06system\x93)R") });
  expect(refusal(inHeader)).toMatch(/asks to run os\.system/);
  const numpy = make.global("numpy.core.multiarray", "scalar");
  expect(refusal(make.zipPth(make.dict({ a: one, b: numpy }), {}))).toMatch(/numpy\.core\.multiarray\.scalar/);
});

test("a state dict must be at the top or under one usual key", () => {
  const state = make.dict({ a: one });
  const bytes = (root: Uint8Array) => make.zipPth(root, { 0: floats(1, 2, 3) });
  expect(values(file(bytes(make.dict({ model: state, best: one }))))).toEqual({ a: [1, 2, 3] });
  expect(values(file(bytes(make.dict({ model: make.int(1), b: one }))))).toEqual({ b: [1, 2, 3] });
  expect(refusal(bytes(make.dict({ model: state, state_dict: state })))).toMatch(/"state_dict" and "model"/);
  expect(refusal(bytes(make.dict({ net: state })))).toMatch(/no state dict: .*found the keys "net"/);
  expect(refusal(bytes(make.dict({})))).toMatch(/found an empty dict/);
  expect(refusal(bytes(make.list(one)))).toMatch(/expected a dict of tensors, found list/);
  expect(refusal(bytes(make.concat("}", make.int(4), one, "s")))).toMatch(/a tensor's name is number/);
});

test("names like __proto__ are names like any other", () => {
  const root = make.concat("}(", make.text("__proto__"), one, make.text("constructor"), one, "u");
  const opened = openPth(file(make.zipPth(root, { 0: floats(1, 2, 3) })));
  expect([...opened.tensors.keys()]).toEqual(["__proto__", "constructor"]);
  expect(({} as Record<string, unknown>).dtype).toBeUndefined();
  opened.close();
});

test.each<[string, Uint8Array, RegExp]>([
  [
    "past its storage",
    make.tensor(make.storage("0", make.int(3)), [2, 2], [2, 1]),
    /reach element 3 of a storage of 3/,
  ],
  ["past its storage by an offset", make.tensor(make.storage("0", make.int(3)), [2], [1], 2), /reach element 3 /],
  [
    "with a negative stride",
    make.tensor(make.storage("0", make.int(3)), [2], [-1], 2),
    /strides must be 1 whole numbers/,
  ],
  ["with a negative offset", make.tensor(make.storage("0", make.int(3)), [2], [1], -1), /offset into its storage must/],
  ["with a negative size", make.tensor(make.storage("0", make.int(3)), [-2], [1]), /no valid shape/],
  ["with too few strides", make.tensor(make.storage("0", make.int(3)), [1, 1], [1]), /strides must be 2 whole numbers/],
  [
    "of no whole sizes",
    make.call(
      make.global("torch._utils", "_rebuild_tensor"),
      make.storage("0", make.int(3)),
      "K\0",
      make.tuple("N"),
      make.tuple("K\x01"),
    ),
    /no valid shape/,
  ],
  [
    "of overflowing size",
    make.tensor(make.storage("0", make.int(3)), [2 ** 31 - 1, 2 ** 31 - 1, 0], [0, 0, 0]),
    /no valid shape/,
  ],
  [
    "of 65 dimensions",
    make.tensor(make.storage("0", make.int(3)), Array(65).fill(1), Array(65).fill(1)),
    /no valid shape/,
  ],
  ["of a storage that is not there", make.tensor(make.storage("7", make.int(3)), [1], [1]), /storage "7" is not in/],
  [
    "of a storage that is too short",
    make.tensor(make.storage("0", make.int(4)), [1], [1]),
    /has 12 bytes in the archive; 16/,
  ],
  ["of a storage of negative length", make.tensor(make.storage("0", make.int(-1)), [1], [1]), /number of elements/],
  [
    "of a storage of huge length",
    make.tensor(make.storage("0", "\x8a\x07\xff\xff\xff\xff\xff\xff\x1f"), [1], [1]),
    /number of elements/,
  ],
  ["on the meta device", make.tensor(make.storage("0", make.int(3), { location: "meta" }), [1], [1]), /meta device/],
  [
    "of quantized elements",
    make.tensor(make.storage("0", make.int(3), { type: "QInt8Storage" }), [1], [1]),
    /quantized/,
  ],
  [
    "marked conjugated",
    make.call(
      make.global("torch._utils", "_rebuild_tensor_v2"),
      make.storage("0", make.int(3)),
      "K\0",
      ")",
      ")",
      "\x89",
      "N",
      make.dict({ conj: "\x88" }),
    ),
    /conjugated/,
  ],
  ["made of no storage", make.tensor(make.text("0"), [1], [1]), /made from str, expected a storage/],
  [
    "made by what makes none",
    make.call(
      make.global("torch._tensor", "_rebuild_from_type_v2"),
      make.global("torch._tensor", "_rebuild_from_type_v2"),
      "N",
      ")",
      "N",
    ),
    /makes none/,
  ],
])("a tensor %s is refused", (_, tensor, message) => {
  expect(refusal(make.zipPth(make.dict({ a: tensor }), { 0: floats(1, 2, 3) }))).toMatch(message);
});

test("tensors that would take far more memory than the file are refused", () => {
  const expanded = make.tensor(make.storage("0", make.int(1)), [2 ** 20, 2 ** 10], [0, 0]);
  expect(refusal(make.zipPth(make.dict({ a: expanded }), { 0: floats(1) }))).toMatch(/"a".*4294967296 bytes of memory/);
  const half = make.tensor(make.storage("0", make.int(1)), [2 ** 15, 2 ** 10], [0, 0]); // 128 MiB
  const opened = openPth(file(make.zipPth(make.dict({ a: half, b: half }), { 0: floats(1) })));
  expect(opened.tensors.get("b")).toMatchObject({ strides: [0, 0], byteLength: 4 });
  opened.close();
  expect(refusal(make.zipPth(make.dict({ a: half, b: half, c: half }), { 0: floats(1) }))).toMatch(/up to tensor "c"/);
});

test("a larger record than its storage is allowed in the zip format", () => {
  expect(values(file(make.zipPth(make.dict({ a: one }), { 0: floats(1, 2, 3, 4) })))).toEqual({ a: [1, 2, 3] });
});

test("an empty tensor is read whatever offset it gives", () => {
  const empty = make.tensor(make.storage("0", make.int(0)), [0, 4], [4, 1], 100);
  const opened = openPth(file(make.zipPth(make.dict({ a: empty }), { 0: Buffer.alloc(0) })));
  expect(opened.tensors.get("a")).toMatchObject({ shape: [0, 4], byteLength: 0, elementOffset: 0 });
  opened.close();
});

test("big-endian tensors are refused by name in both formats", () => {
  const root = make.dict({ a: one });
  expect(refusal(make.zipPth(root, { 0: floats(1, 2, 3) }, { byteorder: "big" }))).toMatch(/"big"-endian/);
  expect(refusal(make.legacyPth(root, { 0: [3, floats(1, 2, 3)] }, { littleEndian: false }))).toMatch(/big-endian/);
});

test("the older format is checked field by field", () => {
  const root = make.dict({ a: one });
  const data = { 0: [3, floats(1, 2, 3)] } as const;
  expect(refusal(make.legacyPth(root, data, { magic: make.int(5) }))).toMatch(
    /pickle, but not one that torch\.save wrote/,
  );
  expect(refusal(make.legacyPth(root, data, { version: 1002 }))).toMatch(/version is not 1001/);
  expect(refusal(make.legacyPth(root, data, { keys: make.text("0") }))).toMatch(/list of storages is str/);
  expect(refusal(make.legacyPth(root, data, { keys: make.list() }))).toMatch(/storage "0" is not in the file/);
  expect(refusal(make.legacyPth(root, data, { keys: make.list(make.text("0"), make.text("0")) }))).toMatch(/one twice/);
  expect(refusal(make.legacyPth(root, data, { keys: make.list(make.text("9")) }))).toMatch(/no tensor uses/);
  expect(refusal(make.legacyPth(root, { 0: [4, floats(1, 2, 3)] }))).toMatch(/has 4 elements; 3 are expected/);
  expect(refusal(make.legacyPth(root, { 0: [3, floats(1, 2)] }))).toMatch(/is the download complete/);
  const twoLengths = make.dict({ a: one, b: make.tensor(make.storage("0", make.int(2)), [1], [1]) });
  expect(refusal(make.legacyPth(twoLengths, data))).toMatch(/12 bytes here and 8 there/);
});

test("a zip archive that torch did not write is refused", () => {
  expect(refusal(make.zip([["a/b.txt", Buffer.from("x")]]))).toMatch(/0 entries NAME\/data\.pkl/);
  const twice = make.zip([
    ["a/data.pkl", make.pickle("N")],
    ["b/data.pkl", make.pickle("N")],
  ]);
  expect(refusal(twice)).toMatch(/2 entries NAME\/data\.pkl/);
});

test("a closed file can be closed again, and a refused one leaves no file open", () => {
  const opened = openPth(`${vectors}zip.pth`);
  opened.close();
  opened.close();
  opened[Symbol.dispose]();
  const open = () => readdirSync("/proc/self/fd").length;
  const before = open();
  for (let i = 0; i < 20; i++) expect(() => openPth(`${vectors}meta.pth`)).toThrow(DataError);
  expect(open()).toBe(before);
});
