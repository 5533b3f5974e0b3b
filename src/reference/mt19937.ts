/**
 * NumPy's legacy `RandomState`, number for number: the generator of the reference testbed's splits and hyperparameter
 * draws. NumPy guarantees that its streams never change.
 *
 * The generator is MT19937 (Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8(1), 1998) with the initialization
 * of their 2002 revision. Use it only to agree with the reference; other draws of this project come from
 * engine/philox.ts.
 */
import { UsageError } from "../errors.js";

const size = 624;
const middle = 397;
const two32 = 0x1_0000_0000;

/** The part of `numpy.random.RandomState(seed)` that the reference protocol uses. */
export class RandomState {
  readonly #state = new Uint32Array(size);
  #next = 0;

  constructor(seed: number) {
    if (!Number.isInteger(seed) || seed < 0 || seed >= two32)
      throw new UsageError(`RandomState: expected an integer from 0 to 2^32 − 1 as seed, got ${seed}`);
    this.#state[0] = seed;
    for (let i = 1; i < size; i++) {
      const before = this.#state[i - 1];
      this.#state[i] = Math.imul(1812433253, before ^ (before >>> 30)) + i; // the array keeps the low 32 bits
    }
  }

  /** The next word of the state. Words are computed one at a time, because most generators draw only a few. */
  #twist(): number {
    const state = this.#state;
    const i = this.#next;
    this.#next = (i + 1) % size;
    const joined = (state[i] & 0x80000000) | (state[this.#next] & 0x7fffffff);
    state[i] = state[(i + middle) % size] ^ (joined >>> 1) ^ (joined & 1 ? 0x9908b0df : 0);
    return state[i];
  }

  /** An integer from 0 to 2^32 − 1. */
  uint32(): number {
    let word = this.#twist();
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    word ^= word >>> 18;
    return word >>> 0;
  }

  /** A number in [0, 1) in steps of 2^-53, from two words. */
  double(): number {
    const high = this.uint32() >>> 5;
    return (high * 0x400_0000 + (this.uint32() >>> 6)) / 0x20_0000_0000_0000;
  }

  /** `uniform(from, to)`. */
  uniform(from = 0, to = 1): number {
    return from + (to - from) * this.double();
  }

  /**
   * An integer from 0 to `max`, inclusive: words are masked to its bits and drawn until one fits. For 0 nothing is
   * drawn.
   */
  upTo(max: number): number {
    if (!Number.isInteger(max) || max < 0 || max >= two32)
      throw new UsageError(`RandomState.upTo: expected an integer from 0 to 2^32 − 1, got ${max}`);
    if (max === 0) return 0;
    const mask = 0xffffffff >>> Math.clz32(max);
    for (;;) {
      const draw = (this.uint32() & mask) >>> 0; // the result of & is signed
      if (draw <= max) return draw;
    }
  }

  /** `choice(items)`: one of them, with equal probability. */
  choice<T>(items: readonly T[]): T {
    if (items.length === 0) throw new UsageError("RandomState.choice: expected at least one item, got none");
    return items[this.upTo(items.length - 1)];
  }

  /** `shuffle(items)` in place: Fisher–Yates from the end. */
  shuffle<T>(items: { readonly length: number; [place: number]: T }): void {
    for (let k = items.length - 1; k > 0; k--) {
      const j = this.upTo(k);
      const item = items[k];
      items[k] = items[j];
      items[j] = item;
    }
  }

  /** The numbers 0 to n − 1 after `shuffle`. */
  permutation(n: number): Uint32Array {
    if (!Number.isInteger(n) || n < 0 || n > two32)
      throw new UsageError(`RandomState.permutation: expected an integer from 0 to 2^32, got ${n}`);
    const order = Uint32Array.from({ length: n }, (_, i) => i);
    this.shuffle(order);
    return order;
  }
}
