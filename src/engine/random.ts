/**
 * Random draws, keyed. A draw depends on the seed and on what it is for (purpose, step, domain, n-th use in the step),
 * never on what was drawn before it: a run can resume anywhere, and adding a draw leaves the others where they were.
 *
 * On the host the numbers come from Philox (philox.ts); for whole tensors, from a generator of the engine seeded by the key.
 */

import { createHash } from "node:crypto";
import { EngineError, UsageError } from "../errors.js";
import { loadNative, native } from "./load.js";
import { keyedRandom, type Philox } from "./philox.js";
import { refuseAsync, scope } from "./scope.js";
import { type Tensor, tensor } from "./tensor.js";

/** What a draw is for, from the widest to the finest. */
export type Purpose = string | number;

/** Writes a draw into a tensor. */
export type Draw = (random: Random, target: Tensor) => void;

/** A random generator of the engine, on one device. */
export class RandomGenerator implements Disposable {
  private slot: number;

  constructor(device: string, seed: number | bigint) {
    this.slot = loadNative().newGenerator(device, seed);
  }

  /** @internal Its number in the addon; a freed one's may be another's by now. */
  get id(): number {
    if (this.slot < 0) throw new EngineError("this generator has been disposed of");
    return this.slot;
  }

  dispose(): void {
    if (this.slot >= 0) native.freeGenerator(this.slot);
    this.slot = -1;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** A place random draws come from: a seed and a purpose, from which finer purposes branch off. */
export class Random {
  private uses = new Map<string, number>();

  constructor(
    readonly seed: number,
    readonly purpose: readonly Purpose[] = [],
  ) {
    if (!Number.isSafeInteger(seed)) throw new UsageError(`random: a seed is an integer, got ${seed}`);
  }

  /** The draws for something finer: `random.for("augment", step, domain)`. */
  for(...purpose: Purpose[]): Random {
    return new Random(this.seed, [...this.purpose, ...purpose]);
  }

  /** The draws for the n-th use of a purpose here: dropout layers call `next("dropout")` in the order they run. */
  next(purpose: string): Random {
    const use = this.uses.get(purpose) ?? 0;
    this.uses.set(purpose, use + 1);
    return this.for(purpose, use);
  }

  /** Numbers on the host. */
  host(): Philox {
    return keyedRandom(this.seed, ...this.purpose);
  }

  /** A generator for whole tensors on a device; dispose of it. */
  generator(device: string): RandomGenerator {
    const text = JSON.stringify(["tensor", this.seed, ...this.purpose]);
    return new RandomGenerator(device, createHash("sha256").update(text).digest().readBigInt64LE());
  }

  /** Fills a tensor with uniform numbers from [from, to). */
  uniform_(target: Tensor, from = 0, to = 1): Tensor {
    return this.fill(
      target,
      byGenerator((generator, into) => into.uniform_(from, to, { generator })),
    );
  }

  /** Fills a tensor with normal numbers. */
  normal_(target: Tensor, mean = 0, std = 1): Tensor {
    return this.fill(
      target,
      byGenerator((generator, into) => into.normal_(mean, std, { generator })),
    );
  }

  /** Fills a tensor with ones, each with the given probability, and zeros. */
  bernoulli_(target: Tensor, probability: number): Tensor {
    return this.fill(
      target,
      byGenerator((generator, into) => into.bernoulli_(probability, { generator })),
    );
  }

  /** Fills a tensor with numbers that are drawn on the host, such as an order. */
  numbers_(target: Tensor, draw: (host: Philox) => ArrayLike<number>): Tensor {
    return this.fill(target, (random, into) => write(into, draw(random.host())));
  }

  /** @internal Where every draw into a tensor goes through; see recorded-random.ts. */
  fill(target: Tensor, draw: Draw): Tensor {
    draw(this, target);
    return target;
  }
}

function byGenerator(draw: (generator: RandomGenerator, target: Tensor) => void): Draw {
  return (random, target) => {
    using generator = random.generator(target.device);
    draw(generator, target);
  };
}

/** Numbers into a tensor, which on a GPU is not waited for. */
function write(target: Tensor, numbers: ArrayLike<number>): void {
  scope(() => {
    const values = tensor(Float64Array.from(numbers), { shape: target.shape });
    target.copy_(values.to({ dtype: target.dtype }), true);
  });
}

let ambient: Random | undefined;

/** Runs `body`, which must not be async, with `random` as the place its layers draw from. */
export function withRandom<T>(random: Random, body: () => T): T {
  const before = ambient;
  ambient = random;
  try {
    return refuseAsync("withRandom", body());
  } finally {
    ambient = before;
  }
}

/** Where the layers now running draw from; an error outside `withRandom`. */
export function currentRandom(what: string): Random {
  if (!ambient)
    throw new UsageError(`${what} draws random numbers: run it inside withRandom(new Random(seed, [step]), …)`);
  return ambient;
}
