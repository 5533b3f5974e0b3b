/**
 * The random draws of one update, by name. By default they depend only on the step and the name, and not on earlier
 * draws. Tests replace them by stored numbers.
 */

import { empty } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";

export interface Draws {
  /** Returns the numbers 0 to n − 1 in random order. */
  permutation(name: string, n: number): readonly number[];
  /** Returns one number from Beta(a, b). */
  beta(name: string, a: number, b: number): number;
  /** Returns one number, uniform in [0, 1). */
  uniform(name: string): number;
  /** `permutation` as a tensor on the device of `like`, which a captured step can use. int64 [n] */
  order(name: string, n: number, like: Tensor): Tensor;
  /** `beta` as a scalar with the device and dtype of `like`. */
  betaLike(name: string, a: number, b: number, like: Tensor): Tensor;
  /** Returns an integer from 0 to n − 1 as a scalar on the device of `like`. int64 [] */
  integerLike(name: string, n: number, like: Tensor): Tensor;
  /** Returns standard normal numbers with the shape, device and dtype of `like`. */
  normalLike(name: string, like: Tensor): Tensor;
  /** Returns uniform numbers in [0, 1) of a given shape, with the device and dtype of `like`. */
  uniformLike(name: string, shape: readonly number[], like: Tensor): Tensor;
}

/** Draws that depend on `random` (the run's seed and the step), the name, and how often the name was used. */
export function keyedDraws(random: Random): Draws {
  const hostFor = (name: string) => random.next(name).host();
  return {
    permutation: (name, n) => Array.from(hostFor(name).permutation(n)),
    beta: (name, a, b) => hostFor(name).beta(a, b),
    uniform: (name) => hostFor(name).uniform(),
    order: (name, n, { device }) =>
      random.next(name).numbers_(empty([n], { dtype: "int64", device }), (host) => host.permutation(n)),
    betaLike: (name, a, b, { dtype, device }) =>
      random.next(name).numbers_(empty([], { dtype, device }), (host) => [host.beta(a, b)]),
    integerLike: (name, n, { device }) =>
      random.next(name).numbers_(empty([], { dtype: "int64", device }), (host) => [host.integer(n)]),
    normalLike: (name, like) => random.next(name).normal_(like.detach().emptyLike()),
    uniformLike: (name, shape, like) =>
      random.next(name).uniform_(empty(shape, { dtype: like.dtype, device: like.device })),
  };
}
