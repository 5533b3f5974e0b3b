/**
 * The opcodes of pickle protocols 1 to 5 as steps of the machine (https://docs.python.org/3/library/pickletools.html).
 * Opcodes that do not occur in state dicts only have a name.
 */
import type { PickleMachine } from "./pickle-machine.js";
import { PickleFault, PickleTuple } from "./pickle-values.js";

type Step = (machine: PickleMachine) => void;

/** Ends the pickle. The result is the top of the stack. */
export const STOP = 0x2e;

const OPCODES: readonly (readonly [code: number, name: string, step?: Step])[] = [
  [0x80, "PROTO", (m) => m.protocol(m.reader.byte())],
  [0x95, "FRAME", (m) => void m.length(8)], // only a hint for buffering
  [0x28, "MARK", (m) => m.mark()],
  [0x30, "POP", (m) => m.drop()],
  [0x31, "POP_MARK", (m) => void m.popToMark()],
  [0x32, "DUP", (m) => m.push(m.top())],

  [0x4e, "NONE", (m) => m.push(null)],
  [0x88, "NEWTRUE", (m) => m.push(true)],
  [0x89, "NEWFALSE", (m) => m.push(false)],
  [0x49, "INT", (m) => m.integerOrBooleanLine()],
  [0x4a, "BININT", (m) => m.push(m.reader.bytes(4).readInt32LE())],
  [0x4b, "BININT1", (m) => m.push(m.reader.byte())],
  [0x4d, "BININT2", (m) => m.push(m.reader.bytes(2).readUInt16LE())],
  [0x4c, "LONG", (m) => m.integerLine()],
  [0x8a, "LONG1", (m) => m.integer(m.reader.byte())],
  [0x8b, "LONG4", (m) => m.integer(m.reader.bytes(4).readUInt32LE())],
  [0x47, "BINFLOAT", (m) => m.push(m.reader.bytes(8).readDoubleBE())],

  [0x55, "SHORT_BINSTRING", (m) => m.text(1)], // a Python 2 str
  [0x54, "BINSTRING", (m) => m.text(4)],
  [0x8c, "SHORT_BINUNICODE", (m) => m.text(1)],
  [0x58, "BINUNICODE", (m) => m.text(4)],
  [0x8d, "BINUNICODE8", (m) => m.text(8)],
  [0x43, "SHORT_BINBYTES", (m) => m.bytes(1)],
  [0x42, "BINBYTES", (m) => m.bytes(4)],
  [0x8e, "BINBYTES8", (m) => m.bytes(8)],
  [0x96, "BYTEARRAY8", (m) => m.bytes(8)],

  [0x29, "EMPTY_TUPLE", (m) => m.pushNew(new PickleTuple([]))],
  [0x85, "TUPLE1", (m) => m.pushNew(new PickleTuple(m.popMany(1)))],
  [0x86, "TUPLE2", (m) => m.pushNew(new PickleTuple(m.popMany(2)))],
  [0x87, "TUPLE3", (m) => m.pushNew(new PickleTuple(m.popMany(3)))],
  [0x74, "TUPLE", (m) => m.pushNew(new PickleTuple(m.popToMark()))],
  [0x5d, "EMPTY_LIST", (m) => m.pushNew([])],
  [0x6c, "LIST", (m) => m.pushNew(m.popToMark())],
  [0x61, "APPEND", (m) => m.append(m.popMany(1))],
  [0x65, "APPENDS", (m) => m.append(m.popToMark())],
  [0x7d, "EMPTY_DICT", (m) => m.pushNew(new Map())],
  [0x64, "DICT", makeDict],
  [0x73, "SETITEM", (m) => m.setItems(m.popMany(2))],
  [0x75, "SETITEMS", (m) => m.setItems(m.popToMark())],
  [0x8f, "EMPTY_SET", (m) => m.pushNew(new Set())],
  [0x90, "ADDITEMS", (m) => m.add(m.popToMark())],
  [0x91, "FROZENSET", (m) => m.pushNew(new Set(m.popToMark()))],

  [0x70, "PUT", (m) => m.put(m.memoLine())],
  [0x71, "BINPUT", (m) => m.put(m.reader.byte())],
  [0x72, "LONG_BINPUT", (m) => m.put(m.reader.bytes(4).readUInt32LE())],
  [0x94, "MEMOIZE", (m) => m.put(m.memoSize)],
  [0x67, "GET", (m) => m.get(m.memoLine())],
  [0x68, "BINGET", (m) => m.get(m.reader.byte())],
  [0x6a, "LONG_BINGET", (m) => m.get(m.reader.bytes(4).readUInt32LE())],

  [0x63, "GLOBAL", (m) => m.globalLines()],
  [0x93, "STACK_GLOBAL", (m) => m.globalOfStack()],
  [0x51, "BINPERSID", (m) => m.persistent()],
  [0x52, "REDUCE", (m) => m.call()],
  [0x81, "NEWOBJ", (m) => m.call()],
  [0x62, "BUILD", (m) => m.build()],

  // Text in protocol 0 (which cannot describe storages), instances of classes, extension registries and out-of-band
  // buffers
  [0x46, "FLOAT"],
  [0x50, "PERSID"],
  [0x53, "STRING"],
  [0x56, "UNICODE"],
  [0x69, "INST", refuseInstance],
  [0x6f, "OBJ"],
  [0x82, "EXT1"],
  [0x83, "EXT2"],
  [0x84, "EXT4"],
  [0x92, "NEWOBJ_EX"],
  [0x97, "NEXT_BUFFER"],
  [0x98, "READONLY_BUFFER"],
];

function makeDict(machine: PickleMachine): void {
  const items = machine.popToMark();
  machine.pushNew(new Map());
  machine.setItems(items);
}

/** Reads the class of the instance, so that the error message can name it. */
function refuseInstance(machine: PickleMachine): void {
  machine.globalLines();
  throw new PickleFault("the pickle makes an instance of a class (opcode INST), which no state dict needs");
}

/** The step for each opcode. */
export const STEPS: ReadonlyMap<number, Step> = new Map(
  OPCODES.flatMap(([code, , step]) => (step ? [[code, step]] : [])),
);

/** Returns the error message for an opcode without a step. */
export function refusedOpcode(code: number): string {
  const known = OPCODES.find(([other]) => other === code);
  if (known) return `the pickle has the opcode ${known[1]}, which no state dict needs`;
  return `the pickle has the byte 0x${code.toString(16).padStart(2, "0")} where an opcode should be; the file is damaged`;
}
