import { expect, test } from "vitest";
import { concat, global, pickle, temporaryFiles, text, uint } from "../../tests/assemble-files.js";
import { DataError } from "../errors.js";
import { ByteReader, SourceFile } from "../files/file-bytes.js";
import { readPickle } from "./pickle.js";
import { PickleFault, PickleGlobal, type PickleNamespace, PickleTuple, type PickleValue } from "./pickle-values.js";

const file = temporaryFiles();

const namespace: PickleNamespace = {
  global(name) {
    if (name === "test.pair") return new PickleGlobal(name, (args) => new PickleTuple(args.slice(0, 2)));
    if (name === "test.value") return new PickleGlobal(name);
    throw new PickleFault(`no ${name} here`);
  },
  persistent: (id) => [id],
};

function read(bytes: Uint8Array): PickleValue {
  const source = SourceFile.open(file(bytes));
  try {
    return readPickle(new ByteReader(source, 0, source.size, "the pickle"), namespace);
  } finally {
    source.close();
  }
}

function refusal(bytes: Uint8Array): string {
  try {
    read(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(DataError);
    return (error as Error).message;
  }
  throw new Error("the pickle was accepted");
}

const tuple = (...items: PickleValue[]) => new PickleTuple(items);

// The output of pickle.dumps(value, protocol).hex() in Python 3.11 for the list below (the last four values only from
// protocol 3, 4 or 5 on).
const DUMPS: readonly (readonly [protocol: number, length: number, hex: string])[] = [
  [
    1,
    25,
    "5d7100284e4930310a4930300a4b004affffffff4bff4d00014a000001004affffff7f4a000000804c313039393531313632373737364c0a4c2d313039393531313632373737364c0a4c313138303539313632303731373431313330333432344c0a4c2d313138303539313632303731373431313330333432344c0a473ff800000000000047fe37e43c8800759c580a0000007465787420c3a9e5908d710129284b01747102284b014b02747103284b014b024b03747104284b014b024b034b047471057d710658010000006171075d71087d710961735d710a580100000073710b61680a652e",
  ],
  [
    2,
    25,
    "80025d7100284e88894b004affffffff4bff4d00014a000001004affffff7f4a000000808a060000000000018a060000000000ff8a090000000000000000408a090000000000000000c0473ff800000000000047fe37e43c8800759c580a0000007465787420c3a9e5908d7101294b018571024b014b028671034b014b024b03877104284b014b024b034b047471057d710658010000006171075d71087d710961735d710a580100000073710b61680a652e",
  ],
  [
    5,
    29,
    "800595b7000000000000005d94284e88894b004affffffff4bff4d00014a000001004affffff7f4a000000808a060000000000018a060000000000ff8a090000000000000000408a090000000000000000c0473ff800000000000047fe37e43c8800759c8c0a7465787420c3a9e5908d94294b0185944b014b0286944b014b024b038794284b014b024b034b0474947d948c0161945d947d9461735d948c01739461680a430200ff948f94284b0790284b089194960200000000000000616294652e",
  ],
];

test.each(DUMPS)("a pickle that Python wrote with protocol %i reads as what was written", (_, length, hex) => {
  const written = [
    ...[
      null,
      true,
      false,
      0,
      -1,
      255,
      256,
      65536,
      2 ** 31 - 1,
      -(2 ** 31),
      2 ** 40,
      -(2 ** 40),
      2n ** 70n,
      -(2n ** 70n),
    ],
    ...[1.5, -1e300, "text é名", tuple(), tuple(1), tuple(1, 2), tuple(1, 2, 3), tuple(1, 2, 3, 4)],
    ...[new Map([["a", [new Map()]]]), ["s"], ["s"]],
    ...[Uint8Array.of(0, 255), new Set([7]), new Set([8]), Uint8Array.of(97, 98)],
  ];
  const value = read(Buffer.from(hex, "hex")) as PickleValue[];
  expect(value).toEqual(written.slice(0, length));
  expect(value[23]).toBe(value[24]); // the memo preserves identity
});

test("the opcodes that only hand-written pickles use do what pickletools says", () => {
  expect(read(pickle("K\x01K\x022\x86\x86"))).toEqual(tuple(1, tuple(2, 2))); // DUP
  expect(read(pickle("K\x01(K\x02000K\x03"))).toBe(3); // POP takes the 2, then the mark, then the 1
  expect(read(pickle("K\x01(K\x02K\x031"))).toBe(1); // POP_MARK
  expect(read(pickle("(K\x01K\x02l"))).toEqual([1, 2]); // LIST
  expect(read(pickle("(K\x01K\x02d"))).toEqual(new Map([[1, 2]])); // DICT
  expect(read(pickle("]p7\nK\x01ag7\n\x86"))).toEqual(tuple([1], [1])); // PUT, GET
  expect(read(pickle("]r\x00\x01\x00\x00j\x00\x01\x00\x00\x86"))).toEqual(tuple([], [])); // LONG_BINPUT, LONG_BINGET
  expect(read(pickle("\x8b\x02\x00\x00\x00\x00\x80"))).toBe(-32768); // LONG4
  expect(read(pickle("\x8a\x00"))).toBe(0);
  expect(read(pickle("I-5\n"))).toBe(-5);
  expect(read(pickle("T\x02\x00\x00\x00ab"))).toBe("ab"); // BINSTRING
});

test("globals and persistent ids go to the caller, by either opcode", () => {
  expect(read(pickle(global("test", "pair"), "K\x01K\x02\x86R"))).toEqual(tuple(1, 2));
  expect(read(pickle(text("test"), text("pair"), "\x93K\x01\x85\x81"))).toEqual(tuple(1)); // STACK_GLOBAL, NEWOBJ
  expect(read(pickle(text("key"), "Q"))).toEqual(["key"]);
});

test("an unknown global is refused at once, by each opcode that can name one", () => {
  expect(refusal(pickle(global("os", "system")))).toMatch(/no os\.system here \(the pickle, before byte 13\)/);
  expect(refusal(pickle(text("os"), text("system"), "\x93"))).toMatch(/no os\.system here/);
  expect(refusal(pickle("(ios\nsystem\n"))).toMatch(/no os\.system here/);
  expect(refusal(pickle("(itest\npair\n"))).toMatch(/instance of a class/);
});

test.each([
  ["(o", "OBJ"],
  ["\x82\x01", "EXT1"],
  ["\x83\x01\x00", "EXT2"],
  ["\x84\x01\x00\x00\x00", "EXT4"],
  ["P0\n", "PERSID"],
  ["S'a'\n", "STRING"],
  ["Va\n", "UNICODE"],
  ["F1.5\n", "FLOAT"],
  ["\x97", "NEXT_BUFFER"],
  ["\x98", "READONLY_BUFFER"],
  ["})}\x92", "NEWOBJ_EX"],
])("%j is refused by the opcode's name", (bytes, name) => {
  expect(refusal(pickle(bytes))).toContain(`the opcode ${name}, which no state dict needs`);
});

test.each<[string, Uint8Array, RegExp]>([
  ["an unknown opcode", pickle("\xff"), /the byte 0xff where an opcode should be/],
  ["a protocol to come", concat("\x80\x06N."), /protocol 6/],
  ["no end", concat("\x80\x02N"), /cut short/],
  ["nothing", Buffer.alloc(0), /cut short/],
  ["nothing to give", pickle(), /empty stack/],
  ["an operand that is cut short", concat("J\x01"), /cut short/],
  ["a line that is cut short", concat("cos"), /cut short/],
  ["a line without end", concat("c", Buffer.alloc(5000, "a")), /line of over 4096/],
  ["a pop below a mark", pickle("K\x01(a"), /empty stack/],
  ["a tuple of too few", pickle("K\x01\x86"), /empty stack/],
  ["a group that never began", pickle("t"), /never began/],
  ["a key without a value", pickle("}(K\x01u"), /key without a value/],
  ["items of a list", pickle("]K\x01K\x02s"), /items of list, no dict/],
  ["an append to a dict", pickle("}K\x01a"), /appends to dict/],
  ["an addition to a list", pickle("](K\x01\x90"), /adds to list/],
  ["an empty place of the memo", pickle("h\x05"), /place 5 of its memo/],
  ["a memo of nothing", pickle("q\x05"), /empty stack/],
  ["a global by number", pickle("K\x01K\x02\x93"), /no text/],
  ["a call of a list", pickle("])R"), /calls list/],
  ["a call of a value", pickle(global("test", "value"), ")R"), /calls test\.value/],
  ["a call without a tuple", pickle(global("test", "pair"), "]R"), /with list in place of arguments/],
  ["state for a list", pickle("]}b"), /state of list/],
  ["state that is none", pickle("}]b"), /state of dict/],
  ["text that is no UTF-8", pickle("\x8c\x01\xff"), /not valid UTF-8/],
  ["an integer that is none", pickle("L1e5L\n"), /integer that is none/],
  ["a boolean that is none", pickle("I0x1\n"), /integer that is none/],
  ["a place that is no number", pickle("g-1\n"), /no number/],
  ["a very long integer", concat("\x8b", uint(4, 300), Buffer.alloc(300), "."), /integer of 300 bytes/],
])("a pickle with %s is refused", (_, bytes, message) => {
  expect(refusal(bytes)).toMatch(message);
});

test.each([
  ["X", 4],
  ["B", 4],
  ["T", 4],
  ["\x8d", 8],
  ["\x8e", 8],
  ["\x95", 8],
  ["\x96", 8],
] as const)("a length beyond the file is refused before anything is allocated (%j)", (opcode, width) => {
  const huge = uint(width, width === 4 ? 0xffffffff : 2n ** 64n - 1n);
  expect(refusal(concat("\x80\x04", opcode, huge, "abc"))).toMatch(/announces \d+ bytes where 3 are left/);
});

test("steps, objects and text have a limit, and depth needs none", () => {
  expect(refusal(concat(Buffer.alloc(5_000_001, "N"), "."))).toMatch(/more than 5000000 steps/);
  expect(refusal(concat(Buffer.alloc(1_000_001, "]"), "."))).toMatch(/more than 1000000 objects/);
  const text = concat("B", uint(4, 33 << 20), Buffer.alloc(33 << 20));
  expect(refusal(concat(text, text, "."))).toMatch(/bytes of text/);
  let depth = 0;
  const deep = read(concat(Buffer.alloc(500_000, "]"), Buffer.alloc(499_999, "a"), "."));
  for (let value: PickleValue = deep; Array.isArray(value) && value.length > 0; value = value[0]) depth++;
  expect(depth).toBe(499_999);
});

test("a pickle that contains itself is read", () => {
  const value = read(pickle("]q\x00h\x00a")) as PickleValue[];
  expect(value[0]).toBe(value);
});

test("a pickle longer than the reader's window is read across its edges", () => {
  const words = Array.from({ length: 20_000 }, (_, i) => `parameter.${i}`);
  expect(read(pickle("](", ...words.map(text), "e"))).toEqual(words);
});
