/** Damaged input for fuzz tests: what comes out follows from a seed, on every machine. */

import { concat, uint } from "../assemble-files.js";

/** A small generator of our own (mulberry32), so that an input follows from its seed on every machine. */
export class Dice {
  constructor(private state: number) {}
  below(bound: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * bound);
  }
  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)];
  }
  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }
}

const EXTREMES = [
  0n,
  1n,
  0x7fn,
  0xffn,
  0xffffn,
  0x7fffffffn,
  0x80000000n,
  0xffffffffn,
  2n ** 53n,
  2n ** 63n,
  2n ** 64n - 1n,
];
export interface Damage {
  /** Put in where they may hurt. */
  readonly pieces: readonly Uint8Array[];
  /** A file to take ranges from. */
  readonly other: Buffer;
  /** Whether everything else stays where it was. */
  readonly inPlace?: boolean;
}

/** Bytes changed in one to four ways. */
export function damage(dice: Dice, original: Buffer, { pieces, other, inPlace = false }: Damage): Buffer {
  let bytes: Buffer = Buffer.from(original);
  for (let times = 1 + dice.below(4); times > 0; times--) {
    const at = dice.below(bytes.length + 1);
    const head = bytes.subarray(0, at);
    const tail = bytes.subarray(at);
    const length = dice.below(dice.pick([4, 16, 64, 1024]));
    switch (dice.below(inPlace ? 4 : 9)) {
      case 0: // flip one bit
      case 1:
        if (at < bytes.length) bytes[at] ^= 1 << dice.below(8);
        break;
      case 2: // replace one byte
        if (at < bytes.length) bytes[at] = dice.below(256);
        break;
      case 3: // replace what may be a length
        uint(dice.pick([1, 2, 4, 8] as const), dice.pick(EXTREMES)).copy(bytes, at);
        break;
      case 4: // put in a piece
      case 5:
        bytes = concat(head, dice.pick(pieces), tail);
        break;
      case 6: // leave out a range
        bytes = concat(head, tail.subarray(length));
        break;
      case 7: // put in a range of another file
        bytes = concat(head, other.subarray(dice.below(other.length)).subarray(0, length), tail);
        break;
      case 8: // cut
        if (dice.below(4) === 0) bytes = Buffer.from(head);
        break;
    }
  }
  return bytes;
}

/** Values that a program may not have thought of. */
const ODD: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e9,
    1e308,
    -0,
    2 ** 53,
    2 ** 31,
    "",
    "a",
    "\0",
    "../../etc/passwd",
    "__proto__",
    "\ud800",
  ],
  ...[
    [],
    {},
    [[]],
    [null],
    [[1], "a"],
    { a: 1 },
    { length: 1e9 },
    { toString: 1 },
    { format: 2 },
    "NaN",
    "1e400",
    "constructor",
  ],
];

/** A JSON value with one to three of its parts replaced, removed, put elsewhere or nested. */
export function damageJson(dice: Dice, original: unknown): unknown {
  const whole = { value: structuredClone(original) };
  for (let times = 1 + dice.below(3); times > 0; times--) {
    const places: [Record<string, unknown>, string][] = [];
    const visit = (parent: Record<string, unknown>): void => {
      for (const name of Object.keys(parent)) {
        places.push([parent, name]);
        const child = parent[name];
        if (typeof child === "object" && child !== null) visit(child as Record<string, unknown>);
      }
    };
    visit(whole);
    if (places.length === 0) break;
    const [parent, name] = dice.pick(places);
    const [from, key] = dice.pick(places);
    switch (dice.below(6)) {
      case 0:
      case 1:
        parent[name] = structuredClone(dice.pick(ODD));
        break;
      case 2:
        delete parent[name];
        break;
      case 3:
        parent[name] = structuredClone(from[key]);
        break;
      case 4:
        parent[name] = dice.below(2) === 0 ? [parent[name]] : { [dice.pick(["a", "0", "__proto__"])]: parent[name] };
        break;
      case 5:
        parent[dice.pick(Array.isArray(parent) ? ["0", "1"] : ["extra", "0", "toString", "length"])] = structuredClone(
          dice.pick(ODD),
        );
        break;
    }
  }
  return whole.value;
}
