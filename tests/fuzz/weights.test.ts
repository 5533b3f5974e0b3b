/**
 * Thousands of damaged and hostile weight files: whatever is in them, a reader gives sound tensors or a `DataError`, and
 * soon. Deterministic; NUDGE_FUZZ=10 makes ten times as many. A failure names the seed of its input.
 */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { DTYPES } from "../../src/engine/dtype.js";
import { openWeights } from "../../src/engine/open-weights.js";
import { elementCount, type StoredTensor, type WeightsFile } from "../../src/engine/stored-tensor.js";
import { locateZipEntry, readZip } from "../../src/engine/zip.js";
import { DataError } from "../../src/errors.js";
import { SourceFile } from "../../src/files/file-bytes.js";
import * as make from "../assemble-files.js";
import { concat, temporaryFiles, uint } from "../assemble-files.js";
import { Dice, damage } from "./damage.js";

const MULTIPLE = Number(process.env.NUDGE_FUZZ ?? 1);
const ROUNDS = 2000 * MULTIPLE;
vi.setConfig({ testTimeout: 60_000 * Math.max(1, MULTIPLE) });
const SLOWEST_MS = 5000;
const MOST_MEMORY = 512 << 20;

const vectors = new URL("../vectors/", import.meta.url).pathname;
const load = (name: string): Buffer => readFileSync(vectors + name);
const file = temporaryFiles();

const OPCODES = Buffer.from(
  "().012NIJKLMQRTUXabcdeghijlopqrstu}]GBC\x80\x81\x82\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96",
  "latin1",
);
const JSON_PIECES = [
  '"',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "\\",
  "-1",
  "1.5",
  "1e9",
  "9007199254740993",
  '"a"',
  '"F4"',
  '"shape"',
  '"__proto__"',
  "\\ud800",
  "null",
  "[[",
  '"__metadata__":',
].map((piece) => Buffer.from(piece));

/** Opens the bytes and checks that only what is promised comes out: the message without what varies, or "accepted". */
function open(bytes: Uint8Array): string {
  const path = file(bytes); // a new file each: to overwrite one makes some file systems wait for the disk
  const start = performance.now();
  let kind = "accepted";
  try {
    const opened = openWeights(path);
    try {
      for (const [name, tensor] of opened.tensors) expectSound(bytes.length, name, tensor, opened);
    } finally {
      opened.close();
    }
  } catch (error) {
    if (!(error instanceof DataError)) throw error;
    if (!error.message.startsWith(`${path}: `)) throw new Error(`does not name its file: ${error.message}`);
    if (error.message.length > path.length + 2000) throw new Error(`a message of ${error.message.length} characters`);
    kind = error.message.slice(path.length).replace(/"(\\.|[^"\\])*"|0x..|\d+|run \S+|begins .*/g, "_");
  }
  const milliseconds = performance.now() - start;
  rmSync(path);
  if (milliseconds > SLOWEST_MS) throw new Error(`took ${Math.round(milliseconds)} ms: ${kind}`);
  return kind;
}

/** What the engine relies on when it reads a tensor without looking again. */
function expectSound(size: number, name: string, tensor: StoredTensor, { metadata }: WeightsFile): void {
  const { dtype, shape, strides, offset, byteLength, elementOffset } = tensor;
  const count = elementCount(shape);
  const whole = [offset, byteLength, elementOffset, ...shape, ...(strides ?? [])];
  const steps = strides ?? shape.map((_, i) => shape.slice(i + 1).reduce((a, b) => a * b, 1));
  const last = shape.reduce((sum, length, i) => sum + (length - 1) * steps[i], elementOffset);
  const sound =
    typeof name === "string" &&
    Object.hasOwn(DTYPES, dtype) &&
    whole.every((value) => Number.isSafeInteger(value) && value >= 0) &&
    offset + byteLength <= size &&
    (strides === undefined || strides.length === shape.length) &&
    count !== undefined &&
    (count === 0 || (last + 1) * DTYPES[dtype].bytes <= byteLength) &&
    Object.values(metadata).every((value) => typeof value === "string");
  if (!sound) throw new Error(`unsound tensor ${name}: ${JSON.stringify(tensor)}`);
}

/** Opens `rounds` inputs by their seeds; gives how often each kind of outcome came. */
function fuzz(rounds: number, firstSeed: number, input: (dice: Dice) => Uint8Array): Map<string, number> {
  const kinds = new Map<string, number>();
  const memory = process.memoryUsage().rss;
  const files = readdirSync("/proc/self/fd").length;
  for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
    try {
      const kind = open(input(new Dice(seed)));
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    } catch (cause) {
      throw new Error(`seed ${seed}: ${(cause as Error).message}`, { cause });
    }
  }
  expect(readdirSync("/proc/self/fd").length).toBe(files);
  expect(process.memoryUsage().rss - memory).toBeLessThan(MOST_MEMORY);
  return kinds;
}

/** The inputs must get past the first checks, and some come through whole: otherwise they would show little. */
function expectVariety(kinds: ReadonlyMap<string, number>, least: number): void {
  expect(kinds.get("accepted") ?? 0).toBeGreaterThan(ROUNDS / 100);
  expect(kinds.size).toBeGreaterThan(least);
}

const zipped = load("pth/zip.pth");
const legacy = load("pth/legacy.pth");
const checkpoint = load("pth/checkpoint.pth");
const tensors = load("safetensors/all-dtypes.safetensors");

function pickleOf(name: string): Buffer {
  const source = SourceFile.open(vectors + name);
  const archive = readZip(source);
  const { offset, byteLength } = locateZipEntry(archive, archive.entries.get("archive/data.pkl")!);
  const bytes = source.read(offset, byteLength, "the pickle");
  source.close();
  return bytes;
}

const picklePieces = [
  ...Array.from(OPCODES, (opcode) => Buffer.of(opcode)),
  ...[
    make.text("weight"),
    make.text("storage"),
    make.int(-1),
    make.int(2 ** 31 - 1),
    make.tuple(),
    make.list(),
    make.dict({}),
  ],
  ...[make.global("os", "system"), make.global("torch", "FloatStorage"), make.global("collections", "OrderedDict")],
  ...["Size", "device", "float16", "Tensor"].map((name) => make.global("torch", name)),
  ...["_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter"].map((name) =>
    make.global("torch._utils", name),
  ),
  ...[make.storage("0", make.int(4)), make.tensor(make.storage("0", make.int(4)), [2, 2], [2, 1]), uint(8, 2n ** 63n)],
];

test("damaged safetensors files give valid tensors or a DataError", () => {
  const small = make.safetensors(
    {
      __metadata__: { a: "b" },
      x: { dtype: "F32", shape: [2, 1], data_offsets: [0, 8] },
      y: { dtype: "I8", shape: [], data_offsets: [8, 9] },
    },
    9,
  );
  const kinds = fuzz(ROUNDS, 1, (dice) => {
    const bytes = damage(dice, dice.pick([small, small, tensors]), { pieces: JSON_PIECES, other: tensors });
    // Mostly with the right length of the header again, or hardly any input would get to the header itself.
    const headerEnd = bytes.indexOf("}}", 8) + 2;
    if (dice.below(3) > 0 && headerEnd > 9) uint(8, headerEnd - 8).copy(bytes);
    return bytes;
  });
  expectVariety(kinds, 25);
});

test("damaged PyTorch zip files give valid tensors or a DataError", () => {
  // The directory and the pickle are where the decisions are, so half of the damage is done there alone.
  const kinds = fuzz(ROUNDS, 100_001, (dice) => {
    const original = dice.pick([zipped, checkpoint]);
    const how = { pieces: picklePieces, other: legacy, inPlace: dice.below(4) > 0 };
    if (dice.below(2) === 0) return damage(dice, original, how);
    const directory = original.indexOf("PK\x01\x02", 0, "latin1");
    return concat(original.subarray(0, directory), damage(dice, original.subarray(directory), how));
  });
  expectVariety(kinds, 30);
});

test("damaged pickles in valid zip files give valid tensors or a DataError", () => {
  const pickles = ["pth/zip.pth", "pth/checkpoint.pth", "pth/zip-protocol-5.pth"].map(pickleOf);
  const kinds = fuzz(ROUNDS, 200_001, (dice) => {
    const pickle = damage(dice, dice.pick(pickles), { pieces: picklePieces, other: legacy });
    const storages = Array.from({ length: 20 }, (_, i) => [`a/data/${i}`, Buffer.alloc(256)] as const);
    return make.zip([["a/data.pkl", pickle], ...storages], { zip64: dice.below(2) === 0 });
  });
  expectVariety(kinds, 40);
});

test("damaged files of PyTorch's older format give valid tensors or a DataError", () => {
  const kinds = fuzz(ROUNDS, 300_001, (dice) => {
    // Not in the first bytes, by which the format is told.
    const original = dice.pick([legacy, load("pth/legacy-protocol-4.pth")]);
    const start = dice.below(8) === 0 ? 0 : 14;
    return concat(
      original.subarray(0, start),
      damage(dice, original.subarray(start), { pieces: picklePieces, other: zipped }),
    );
  });
  expectVariety(kinds, 30);
});

test("pickles made of random pieces give valid tensors or a DataError", () => {
  const kinds = fuzz(ROUNDS, 400_001, (dice) => {
    const pieces: Uint8Array[] = [];
    for (let count = dice.below(60); count > 0; count--) {
      const opcode = Buffer.of(dice.pick([...OPCODES]));
      pieces.push(
        dice.below(3) === 0
          ? dice.pick(picklePieces)
          : concat(opcode, dice.below(4) === 0 ? dice.bytes(dice.below(5)) : ""),
      );
    }
    return make.zip([
      ["a/data.pkl", make.pickle(...pieces)],
      ["a/data/0", Buffer.alloc(16)],
    ]);
  });
  expect(kinds.size).toBeGreaterThan(20);
});

test("random bytes after the first bytes of each format give a DataError", () => {
  const beginnings = [
    "PK\x03\x04",
    "\x80\x02",
    "\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.",
    "\x10\0\0\0\0\0\0\0{",
    "",
  ];
  const kinds = fuzz(ROUNDS, 500_001, (dice) => concat(dice.pick(beginnings), dice.bytes(dice.below(200))));
  expect(kinds.has("accepted")).toBe(false);
});

const repeat = (piece: Uint8Array | string, times: number): Buffer =>
  Buffer.concat(Array<Buffer>(times).fill(concat(piece)));

// Files that are well-formed step by step and meant to take all time or memory; sizes stay small enough to write here.
test.each<[string, () => Uint8Array]>([
  [
    "a list of pairs made into a dict again and again",
    () => {
      const pairs = concat("](", repeat(concat(make.text("k"), "N\x86"), 20_000), "eq\x07");
      const dicts = repeat(concat("ccollections\nOrderedDict\nh\x07\x85R0"), 20_000);
      return make.zipPth(concat(pairs, dicts), {});
    },
  ],
  [
    "lists inside lists where a number should be",
    () => {
      const deep = concat(repeat("]", 400_000), repeat("a", 399_999));
      return make.zipPth(make.dict({ a: make.tensor(make.storage("0", deep), [1], [1]) }), { 0: Buffer.alloc(4) });
    },
  ],
  [
    "lists inside lists as the version of the older format",
    () => {
      return concat("\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", repeat("]", 400_000), repeat("a", 399_999), ".");
    },
  ],
  [
    "a long tuple as every tensor's shape",
    () => {
      const shape = concat("(", repeat("K\x01", 500_000), "tq\x07");
      const one = concat("ctorch._utils\n_rebuild_tensor\n(", make.storage("0", "K\x01"), "K\x00h\x07h\x07tRq\x08");
      return make.zipPth(concat("}(", make.text("a"), shape, "0", one, "u"), { 0: Buffer.alloc(4) });
    },
  ],
  [
    "a hundred thousand names for one tensor",
    () => {
      const one = concat(make.tensor(make.storage("0", "K\x01"), [1], [1]), "q\x07");
      const names = Array.from({ length: 100_000 }, (_, i) => concat(make.text(`n${i}`), "h\x07"));
      return make.zipPth(concat("}(", make.text("a"), one, ...names, "u"), { 0: Buffer.alloc(4) });
    },
  ],
  ["a dict that holds itself", () => make.zipPth(concat("}q\x07", make.text("model"), "h\x07s"), {})],
  [
    "memo places far apart",
    () => make.zipPth(concat("]", ...Array.from({ length: 100_000 }, (_, i) => concat("r", uint(4, i * 40_000)))), {}),
  ],
  ["a deep header", () => make.safetensors('{"a":'.repeat(500_000))],
  ["a header of escapes", () => make.safetensors(`{"${"\\\\".repeat(5_000_000)}`)],
  ["a header of spaces", () => make.safetensors(`{${" ".repeat(20_000_000)}`)],
  ["a long number", () => make.safetensors(`{"a":{"shape":[${"9".repeat(5_000_000)}]}}`)],
  [
    "a hundred thousand tensors of nothing",
    () => {
      const entries = Array.from(
        { length: 100_000 },
        (_, i) => `"${i}":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`,
      );
      return make.safetensors(`{${entries}}`);
    },
  ],
  ["a zip end record at every place", () => repeat("PK\x05\x06", 30_000)],
])("%s takes little time and memory", (_, bytes) => {
  const input = bytes();
  const memory = process.memoryUsage().rss;
  open(input);
  expect(process.memoryUsage().rss - memory).toBeLessThan(MOST_MEMORY);
});
