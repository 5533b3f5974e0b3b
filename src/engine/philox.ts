/**
 * The random numbers on the host: Philox 4x32-10, a counter-based generator (Salmon, Moraes, Dror and Shaw, "Parallel
 * random numbers: as easy as 1, 2, 3", SC 2011), keyed by seed and purpose.
 *
 * There is no global generator, and draws for different purposes do not affect each other: `keyedRandom(seed,
 * "shuffle", step, domain)` returns the same stream whatever was drawn before. Adding a draw therefore does not change
 * the others, and a resumed run needs no generator state. Every method only uses operations that IEEE 754 defines to
 * the last bit, so the numbers are the same on every machine.
 */
import { createHash } from "node:crypto";
import { UsageError } from "../errors.js";
import { portableExp, portableLog } from "./portable-math.js";

const two32 = 0x1_0000_0000;
const two53 = Number.MAX_SAFE_INTEGER + 1;

/**
 * Returns the high half of the 64-bit product of two 32-bit numbers, computed from 16-bit halves with 32-bit integers
 * for speed.
 */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const cross = (Math.imul(aHigh, bLow) + (Math.imul(aLow, bLow) >>> 16)) | 0; // below 2^32, interpreted as unsigned
  const middle = (Math.imul(aLow, bHigh) + (cross & 0xffff)) | 0; // same as above
  return (Math.imul(aHigh, bHigh) + (cross >>> 16) + (middle >>> 16)) | 0;
}

/** The block function: computes four random words from a counter of four words and a key of two words. */
export function philox4x32(counter: ArrayLike<number>, key: ArrayLike<number>, out = new Uint32Array(4)): Uint32Array {
  let c0 = counter[0] | 0;
  let c1 = counter[1] | 0;
  let c2 = counter[2] | 0;
  let c3 = counter[3] | 0;
  let k0 = key[0] | 0;
  let k1 = key[1] | 0;
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(0xd2511f53, c0);
    const low0 = Math.imul(0xd2511f53, c0);
    const high1 = multiplyHigh(0xcd9e8d57, c2);
    const low1 = Math.imul(0xcd9e8d57, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  out[0] = c0; // storing in an unsigned array removes the sign
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
  return out;
}

/** A stream of random numbers: the blocks of one key and one upper half of the counter, in order. */
export class Philox {
  readonly #key: Uint32Array;
  readonly #counter: Uint32Array;
  readonly #block = new Uint32Array(4);
  #used = 4;
  #spareNormal: number | undefined;

  /** `stream` is the upper half of the counter; the lower half counts blocks from zero. */
  constructor(key: readonly [number, number], stream: readonly [number, number] = [0, 0]) {
    this.#key = Uint32Array.from(key);
    this.#counter = Uint32Array.from([0, 0, ...stream]);
  }

  /** Returns an integer from 0 to 2^32 − 1. */
  uint32(): number {
    if (this.#used === 4) {
      philox4x32(this.#counter, this.#key, this.#block);
      this.#counter[0]++; // typed arrays wrap around
      if (this.#counter[0] === 0) this.#counter[1]++;
      this.#used = 0;
    }
    return this.#block[this.#used++];
  }

  /** Returns an integer from 0 to 2^53 − 1. */
  #uint53(): number {
    const high = this.uint32() >>> 5;
    return high * 0x400_0000 + (this.uint32() >>> 6);
  }

  /**
   * Returns a uniform number in [from, to), by default [0, 1), in steps of 2^-53 of the length. (Rounding can give `to`
   * if
   * |from| ≫ to − from.)
   */
  uniform(from = 0, to = 1): number {
    if (!Number.isFinite(to - from)) throw new UsageError(`uniform: expected finite ends, got ${from} and ${to}`);
    return from + (to - from) * (this.#uint53() / two53);
  }

  /**
   * Returns an integer from 0 to n − 1 with equal probabilities. Draws in the incomplete last range of n are rejected.
   */
  integer(n: number): number {
    if (!Number.isSafeInteger(n) || n < 1)
      throw new UsageError(`integer: expected an integer from 1 to 2^53 − 1, got ${n}`);
    const range = n <= two32 ? two32 : two53;
    const limit = range - (range % n);
    for (;;) {
      const draw = n <= two32 ? this.uint32() : this.#uint53();
      if (draw < limit) return draw % n;
    }
  }

  /** Returns true with the given probability. */
  bernoulli(probability: number): boolean {
    if (!(probability >= 0 && probability <= 1))
      throw new UsageError(`bernoulli: expected a probability from 0 to 1, got ${probability}`);
    return this.uniform() < probability;
  }

  /**
   * Returns a standard normal number by Marsaglia's polar method, which produces pairs. The second number is kept for
   * the next call.
   */
  normal(): number {
    if (this.#spareNormal !== undefined) {
      const spare = this.#spareNormal;
      this.#spareNormal = undefined;
      return spare;
    }
    for (;;) {
      const u = this.uniform(-1, 1);
      const v = this.uniform(-1, 1);
      const s = u * u + v * v;
      if (s >= 1 || s === 0) continue;
      const scale = Math.sqrt((-2 * portableLog(s)) / s);
      this.#spareNormal = v * scale;
      return u * scale;
    }
  }

  /**
   * Returns a number from Beta(a, b) as X/(X + Y) of two gamma draws, computed with logarithms so that small parameters
   * (Mixup's 0.2) keep their precision.
   */
  beta(a: number, b: number): number {
    for (const value of [a, b])
      if (!(value > 0 && Number.isFinite(value)))
        throw new UsageError(`beta: expected two finite parameters above zero, got ${a} and ${b}`);
    const logX = this.#logGamma(a);
    const logY = this.#logGamma(b);
    return 1 / (1 + portableExp(logY - logX));
  }

  /**
   * Returns the logarithm of a Gamma(shape, 1) draw (Marsaglia and Tsang, 2000); for a shape below 1, Gamma(shape +
   * 1)·U^(1/shape).
   */
  #logGamma(shape: number): number {
    if (shape < 1) return this.#logGamma(shape + 1) + portableLog(1 - this.uniform()) / shape;
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = this.normal();
      const root = 1 + c * x;
      if (root <= 0) continue;
      const v = root * root * root;
      const logV = portableLog(v);
      if (portableLog(1 - this.uniform()) < 0.5 * x * x + d * (1 - v + logV)) return portableLog(d) + logV;
    }
  }

  /** Returns the numbers 0 to n − 1 in random order, with equal probabilities for all orders (Fisher and Yates). */
  permutation(n: number): Uint32Array {
    if (!Number.isInteger(n) || n < 0 || n > two32)
      throw new UsageError(`permutation: expected an integer from 0 to 2^32, got ${n}`);
    const order = Uint32Array.from({ length: n }, (_, i) => i);
    for (let i = n - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}

/**
 * Returns the stream for a seed and a purpose, such as `keyedRandom(seed, "augment", step, domain)`.
 *
 * The key and the stream number are the first 16 bytes of the SHA-256 of the JSON text `[seed,…purpose]` (UTF-8, no
 * spaces) as little-endian words, so that other programs can generate the same numbers.
 */
export function keyedRandom(seed: number, ...purpose: (string | number)[]): Philox {
  if (!Number.isSafeInteger(seed)) throw new UsageError(`a random seed: expected an integer, got ${seed}`);
  for (const part of purpose)
    if (typeof part === "number" && !Number.isFinite(part))
      throw new UsageError(`random draws for ${purpose.join(", ")}: expected finite numbers, got ${part}`);
  const hash = createHash("sha256")
    .update(JSON.stringify([seed, ...purpose]), "utf8")
    .digest();
  return new Philox([hash.readUInt32LE(0), hash.readUInt32LE(4)], [hash.readUInt32LE(8), hash.readUInt32LE(12)]);
}
