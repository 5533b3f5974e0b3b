/**
 * The stack machine that executes a pickle, with the operations that its opcodes use (pickle-opcodes.ts).
 *
 * It is designed for untrusted files: there is no recursion, dictionaries are `Map`s (no prototype pollution), lengths
 * are checked against the available bytes, and the numbers of objects and of text bytes are limited.
 */
import type { ByteReader } from "../files/file-bytes.js";
import {
  PickleFault,
  PickleGlobal,
  type PickleNamespace,
  PickleObject,
  PickleTuple,
  type PickleValue,
  pickleTypeName,
} from "./pickle-values.js";

/** A model with optimizer state has about ten thousand objects. */
const MOST_OBJECTS = 1_000_000;
const MOST_TEXT_BYTES = 64 << 20;
const LONGEST_INTEGER_BYTES = 255;
const NEWEST_PROTOCOL = 5;

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class PickleMachine {
  readonly #stack: PickleValue[] = [];
  /** The stack heights at the marks. */
  readonly #marks: number[] = [];
  readonly #memo = new Map<number, PickleValue>();
  #objects = 0;
  #textBytes = 0;

  constructor(
    readonly reader: ByteReader,
    readonly namespace: PickleNamespace,
  ) {}

  // Stack operations

  push(value: PickleValue): void {
    this.#stack.push(value);
  }

  /** Pushes a new object and counts it, so that a small file cannot allocate a lot of memory. */
  pushNew(value: PickleValue): void {
    if (++this.#objects > MOST_OBJECTS) throw new PickleFault(`the pickle makes more than ${MOST_OBJECTS} objects`);
    this.push(value);
  }

  pop(): PickleValue {
    this.#needs(1);
    return this.#stack.pop()!;
  }

  top(): PickleValue {
    this.#needs(1);
    return this.#stack.at(-1)!;
  }

  popMany(count: number): PickleValue[] {
    this.#needs(count);
    return this.#stack.splice(this.#stack.length - count);
  }

  mark(): void {
    this.#marks.push(this.#stack.length);
  }

  popToMark(): PickleValue[] {
    const mark = this.#marks.pop();
    if (mark === undefined) throw new PickleFault("the pickle ends a group it never began; the file is damaged");
    return this.#stack.splice(mark);
  }

  /** Drops the top of the stack, which may be a mark. */
  drop(): void {
    if (this.#marks.at(-1) === this.#stack.length) this.#marks.pop();
    else this.pop();
  }

  #needs(count: number): void {
    if (this.#stack.length - (this.#marks.at(-1) ?? 0) < count) {
      throw new PickleFault("the pickle takes from an empty stack; the file is damaged");
    }
  }

  // Memo operations

  get memoSize(): number {
    return this.#memo.size;
  }

  put(place: number): void {
    this.#memo.set(place, this.top());
  }

  get(place: number): void {
    const value = this.#memo.get(place);
    if (value === undefined) throw new PickleFault(`the pickle asks for place ${place} of its memo, which is empty`);
    this.push(value);
  }

  // Reading from the file

  protocol(protocol: number): void {
    if (protocol > NEWEST_PROTOCOL) {
      throw new PickleFault(`the pickle has protocol ${protocol}; known are those up to ${NEWEST_PROTOCOL}`);
    }
  }

  /** Reads a length of 1, 4 or 8 bytes. At least this many bytes must remain. */
  length(width: 1 | 4 | 8): number {
    const bytes = this.reader.bytes(width);
    const length = width === 8 ? bytes.readBigUInt64LE() : BigInt(bytes.readUIntLE(0, width));
    if (length > this.reader.remaining) {
      throw new PickleFault(`the pickle announces ${length} bytes where ${this.reader.remaining} are left`);
    }
    return Number(length);
  }

  text(lengthWidth: 1 | 4 | 8): void {
    const bytes = this.#bytes(lengthWidth);
    let text: string;
    try {
      text = UTF8.decode(bytes);
    } catch {
      throw new PickleFault("the pickle has a text that is not valid UTF-8");
    }
    this.pushNew(text);
  }

  bytes(lengthWidth: 1 | 4 | 8): void {
    this.pushNew(new Uint8Array(this.#bytes(lengthWidth)));
  }

  #bytes(lengthWidth: 1 | 4 | 8): Buffer {
    const length = this.length(lengthWidth);
    this.#textBytes += length;
    if (this.#textBytes > MOST_TEXT_BYTES) {
      throw new PickleFault(`the pickle holds more than ${MOST_TEXT_BYTES} bytes of text, far beyond any state dict`);
    }
    return this.reader.bytes(length);
  }

  /** Reads an integer in two's complement, least significant byte first. */
  integer(length: number): void {
    if (length > LONGEST_INTEGER_BYTES) throw new PickleFault(`the pickle has an integer of ${length} bytes`);
    const digits = Buffer.from(this.reader.bytes(length)).reverse().toString("hex");
    this.#pushInteger(length === 0 ? 0n : BigInt.asIntN(8 * length, BigInt(`0x${digits}`)));
  }

  integerLine(): void {
    const line = this.reader.line();
    if (!/^-?\d{1,600}L?$/.test(line)) throw new PickleFault("the pickle has an integer that is none");
    this.#pushInteger(BigInt(line.replace("L", "")));
  }

  /** Reads an integer, or one of the two values that protocol 1 uses for booleans. */
  integerOrBooleanLine(): void {
    const line = this.reader.line();
    if (line === "01" || line === "00") this.push(line === "01");
    else if (/^-?\d{1,18}$/.test(line)) this.#pushInteger(BigInt(line));
    else throw new PickleFault("the pickle has an integer that is none");
  }

  memoLine(): number {
    const line = this.reader.line();
    if (!/^\d{1,15}$/.test(line)) throw new PickleFault("the pickle has a place in its memo that is no number");
    return Number(line);
  }

  #pushInteger(value: bigint): void {
    const number = Number(value);
    this.push(Number.isSafeInteger(number) ? number : value);
  }

  // Collections are filled item by item, because spreading a long list into a call would overflow the stack

  append(items: readonly PickleValue[]): void {
    const list = this.top();
    if (!Array.isArray(list)) throw new PickleFault(`the pickle appends to ${pickleTypeName(list)}, which is no list`);
    for (const item of items) list.push(item);
  }

  add(items: readonly PickleValue[]): void {
    const set = this.top();
    if (!(set instanceof Set)) throw new PickleFault(`the pickle adds to ${pickleTypeName(set)}, which is no set`);
    for (const item of items) set.add(item);
  }

  setItems(items: readonly PickleValue[]): void {
    const dict = this.top();
    if (!(dict instanceof Map)) throw new PickleFault(`the pickle sets items of ${pickleTypeName(dict)}, no dict`);
    if (items.length % 2 !== 0) throw new PickleFault("the pickle has a key without a value; the file is damaged");
    for (let i = 0; i < items.length; i += 2) dict.set(items[i], items[i + 1]);
  }

  // References to globals and persistent objects

  globalLines(): void {
    const module = this.reader.line();
    this.push(this.namespace.global(`${module}.${this.reader.line()}`));
  }

  globalOfStack(): void {
    const [module, name] = this.popMany(2);
    if (typeof name !== "string" || typeof module !== "string") {
      throw new PickleFault("the pickle names a global by something that is no text; the file is damaged");
    }
    this.push(this.namespace.global(`${module}.${name}`));
  }

  persistent(): void {
    this.pushNew(this.namespace.persistent(this.pop()));
  }

  call(): void {
    const [target, args] = this.popMany(2);
    if (!(target instanceof PickleGlobal) || target.call === undefined) {
      throw new PickleFault(`the pickle calls ${pickleTypeName(target)}, which is no function a state dict needs`);
    }
    if (!(args instanceof PickleTuple)) {
      throw new PickleFault(`the pickle calls ${target.name} with ${pickleTypeName(args)} in place of arguments`);
    }
    this.pushNew(target.call(args.items));
  }

  /**
   * Sets attributes of TorchScript modules, which keep them, and of an OrderedDict (`_metadata`: versions of layers),
   * where they are ignored.
   */
  build(): void {
    const state = this.pop();
    const target = this.top();
    if (target instanceof PickleObject && target.build && state instanceof Map) {
      target.build(state);
      return;
    }
    if (!(target instanceof Map && state instanceof Map)) {
      throw new PickleFault(`the pickle sets the state of ${pickleTypeName(target)}; only a dict's is known`);
    }
  }
}
