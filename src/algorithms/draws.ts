/**
 * The random draws of one update, by name. The usual ones are keyed by the step and the name, so they depend on nothing
 * drawn before; tests put stored numbers in their place.
 */

import { empty } from "../engine/ops.generated.js";
import type { Random } from "../engine/random.js";
import type { Tensor } from "../engine/tensor.js";

export interface Draws {
  /** The numbers 0 to n − 1 in random order. */
  permutation(name: string, n: number): readonly number[];
  /** One number from Beta(a, b). */
  beta(name: string, a: number, b: number): number;
  /** One number, uniform in [0, 1). */
  uniform(name: string): number;
  /** `permutation` as a tensor on the device of another: what a captured step can take. int64 [n] */
  order(name: string, n: number, like: Tensor): Tensor;
  /** `beta` as a scalar on the device and of the dtype of another tensor. */
  betaLike(name: string, a: number, b: number, like: Tensor): Tensor;
  /** A whole number from 0 to n − 1, as a scalar on the device of another tensor. int64 [] */
  integerLike(name: string, n: number, like: Tensor): Tensor;
  /** Standard normal numbers, on a device and of a dtype like another tensor's. */
  normalLike(name: string, like: Tensor): Tensor;
  /** Uniform numbers in [0, 1), of a shape, on a device and of a dtype like another tensor's. */
  uniformLike(name: string, shape: readonly number[], like: Tensor): Tensor;
}

/** Draws keyed by what `random` is for (the run's seed and the step), the name, and how often the name was used. */
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
