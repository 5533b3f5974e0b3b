/**
 * L-BFGS for smooth convex functions of one tensor (Nocedal and Wright, Numerical Optimization, 2006, Algorithm 7.4),
 * with a diagonal initial inverse Hessian and a backtracking line search. It is deterministic. Most iterations evaluate
 * the function once, because the full step usually suffices.
 */

import { scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";

/** The value and gradient of a function at a point. */
export interface Point {
  readonly value: number;
  readonly gradient: Tensor;
}

export interface MinimiseOptions {
  readonly start: Tensor;
  /** The diagonal of an approximate inverse Hessian, as a tensor that multiplies a gradient. */
  readonly inverse: Tensor;
  /** Stops when no entry of the gradient exceeds this value. */
  readonly tolerance: number;
  readonly mostIterations: number;
}

export interface Minimum {
  readonly theta: Tensor;
  readonly value: number;
  readonly iterations: number;
  /** The largest entry of the gradient. */
  readonly gradient: number;
}

/** The number of stored pairs of steps and gradient changes. */
const MEMORY = 20;
const MOST_HALVINGS = 30;
/** The fraction of the decrease predicted by the slope that a step must reach (Armijo condition). */
const SUFFICIENT = 1e-4;

interface Pair {
  readonly step: Tensor;
  readonly change: Tensor;
  readonly product: number;
}

/** Minimizes a convex function. The result belongs to the current scope. */
export function minimise(at: (theta: Tensor) => Point, options: MinimiseOptions): Minimum {
  const { start, inverse, tolerance, mostIterations } = options;
  return scope(() => {
    const pairs: Pair[] = [];
    let theta = start.clone();
    let now = at(theta);
    let largest = largestOf(now.gradient);
    let iterations = 0;
    for (; largest > tolerance && iterations < mostIterations; iterations++) {
      const next = scope(() => step(at, { theta, now, direction: descent(now.gradient, pairs, inverse) }));
      if (!next) break; // rounding errors exceed any further decrease
      pairs.push(...pairOf(theta, now, next));
      for (const old of pairs.splice(0, Math.max(0, pairs.length - MEMORY))) dispose(old.step, old.change);
      dispose(theta, now.gradient);
      ({ theta, now } = next);
      largest = largestOf(now.gradient);
    }
    return { theta, value: now.value, iterations, gradient: largest };
  });
}

const dispose = (...tensors: readonly Tensor[]): void => {
  for (const tensor of tensors) tensor.dispose();
};

const largestOf = (gradient: Tensor): number => scope(() => gradient.abs().max().item());
const dot = (a: Tensor, b: Tensor): number => scope(() => a.mul(b).sum().item());

/** The two-loop recursion: minus the approximate inverse Hessian times the gradient. */
function descent(gradient: Tensor, pairs: readonly Pair[], inverse: Tensor): Tensor {
  let q = gradient;
  const shares: number[] = [];
  for (const { step, change, product } of pairs.toReversed()) {
    const share = dot(step, q) / product;
    shares.unshift(share);
    q = q.sub(change.mul(share));
  }
  const last = pairs.at(-1);
  // The scale of the diagonal according to the last step.
  const scale = last ? last.product / dot(last.change, last.change.mul(inverse)) : 1;
  let r = q.mul(inverse).mul(scale);
  for (const [i, { step, change, product }] of pairs.entries())
    r = r.add(step.mul(shares[i] - dot(change, r) / product));
  return r.neg();
}

interface Move {
  readonly theta: Tensor;
  readonly now: Point;
}

/** The first sufficient step among the full step, half of it, a quarter, and so on; undefined if none is sufficient. */
function step(at: (theta: Tensor) => Point, { theta, now, direction }: Move & { direction: Tensor }): Move | undefined {
  const slope = dot(now.gradient, direction);
  if (!(slope < 0)) return undefined;
  // Near the minimum a step decreases the value by less than the rounding error, so only the gradient is compared.
  const rounding = 4 * Math.abs(now.value) * (theta.dtype === "float64" ? 2 ** -52 : 2 ** -23);
  for (let i = 0, length = 1; i < MOST_HALVINGS; i++, length /= 2) {
    const there = theta.add(direction.mul(length));
    const point = at(there);
    if (point.value <= now.value + SUFFICIENT * length * slope + rounding) return { theta: there, now: point };
  }
  return undefined;
}

/** The curvature along a step; undefined if it is lost to rounding. */
function pairOf(theta: Tensor, now: Point, next: Move): Pair[] {
  const [moved, change] = [next.theta.sub(theta), next.now.gradient.sub(now.gradient)];
  const product = dot(moved, change);
  if (product > 0) return [{ step: moved, change, product }];
  dispose(moved, change);
  return [];
}
