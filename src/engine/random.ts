/**
 * Keyed random draws. A draw depends on the seed and on its purpose (name, step, domain, n-th use in the step), and not
 * on earlier draws. A run can therefore resume at any point, and adding a draw does not change the others.
 *
 * On the host the numbers come from Philox (philox.ts). For whole tensors they come from a generator of the engine
 * whose seed is derived from the key.
 */

import { createHash } from "node:crypto";
import { EngineError, UsageError } from "../errors.js";
import { loadNative, native } from "./load.js";
import { keyedRandom, type Philox } from "./philox.js";
import { refuseAsync, scope } from "./scope.js";
import { type Tensor, tensor } from "./tensor.js";

/** A part of the purpose of a draw. Purposes are lists from general to specific. */
export type Purpose = string | number;

/** Writes random numbers into a tensor. */
export type Draw = (random: Random, target: Tensor) => void;

/** A random generator of the engine, on one device. */
export class RandomGenerator implements Disposable {
  private slot: number;

  constructor(device: string, seed: number | bigint) {
    this.slot = loadNative().newGenerator(device, seed);
  }

  /** @internal The index in the addon. The index of a freed generator may be reused. */
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

/** A source of random draws: a seed and a purpose, from which more specific purposes can be derived. */
export class Random {
  private uses = new Map<string, number>();

  constructor(
    readonly seed: number,
    readonly purpose: readonly Purpose[] = [],
  ) {
    if (!Number.isSafeInteger(seed)) throw new UsageError(`random: a seed is an integer, got ${seed}`);
  }

  /** Returns the source for a more specific purpose: `random.for("augment", step, domain)`. */
  for(...purpose: Purpose[]): Random {
    return new Random(this.seed, [...this.purpose, ...purpose]);
  }

  /** Returns the source for the n-th use of a purpose. Dropout layers call `next("dropout")` in the order they run. */
  next(purpose: string): Random {
    const use = this.uses.get(purpose) ?? 0;
    this.uses.set(purpose, use + 1);
    return this.for(purpose, use);
  }

  /** Returns the generator for numbers on the host. */
  host(): Philox {
    return keyedRandom(this.seed, ...this.purpose);
  }

  /** Returns a generator for whole tensors on a device. The caller must dispose of it. */
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

  /** Fills a tensor with numbers that are drawn on the host, such as a permutation. */
  numbers_(target: Tensor, draw: (host: Philox) => ArrayLike<number>): Tensor {
    return this.fill(target, (random, into) => write(into, draw(random.host())));
  }

  /** @internal All draws into tensors call this method; see recorded-random.ts. */
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

/** Writes numbers into a tensor, without waiting for a GPU. */
function write(target: Tensor, numbers: ArrayLike<number>): void {
  scope(() => {
    const values = tensor(Float64Array.from(numbers), { shape: target.shape });
    target.copy_(values.to({ dtype: target.dtype }), true);
  });
}

let ambient: Random | undefined;

/** Runs `body`, which must not be async, with `random` as the source of draws for its layers. */
export function withRandom<T>(random: Random, body: () => T): T {
  const before = ambient;
  ambient = random;
  try {
    return refuseAsync("withRandom", body());
  } finally {
    ambient = before;
  }
}

/** Returns the source of draws for the running layers. Outside `withRandom` it throws an error. */
export function currentRandom(what: string): Random {
  if (!ambient)
    throw new UsageError(`${what} draws random numbers: run it inside withRandom(new Random(seed, [step]), …)`);
  return ambient;
}
