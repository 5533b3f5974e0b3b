/** The one matcher for tensors: every test states its tolerance in sight, and a failure names the worst element. */

import type { Nested } from "../../src/engine/arrays.js";
import { Tensor } from "../../src/engine/tensor.js";

export interface Tolerance {
  /** Relative to the expected element. */
  rtol?: number;
  /** Absolute; for numbers near zero. */
  atol?: number;
  /** What is compared, for the message. */
  what?: string;
}

/**
 * Passes when |actual − expected| ≤ atol + rtol·|expected| for every element and the shapes agree. A flat array on
 * either side is compared element by element in row-major order. NaN equals NaN, and infinities their like.
 */
export function expectClose(actual: Tensor | Nested, expected: Tensor | Nested, tolerance: Tolerance): void {
  const { rtol = 0, atol = 0, what = "tensor" } = tolerance;
  const [got, wanted] = [laidOut(actual), laidOut(expected)];
  const flat = got.shape.length === 1 || wanted.shape.length === 1;
  if (flat ? got.values.length !== wanted.values.length : `${got.shape}` !== `${wanted.shape}`) {
    throw new Error(`${what}: expected the shape [${wanted.shape.join(", ")}], got [${got.shape.join(", ")}]`);
  }
  let worst = -1;
  let worstExcess = 1;
  let wrong = 0;
  for (let i = 0; i < got.values.length; i++) {
    const [a, b] = [got.values[i], wanted.values[i]];
    if (Object.is(a, b) || a === b) continue;
    const excess = Math.abs(a - b) / (atol + rtol * Math.abs(b));
    if (excess <= 1) continue;
    wrong++;
    // NaN on one side compares as no excess at all, and is the worst there can be.
    if (!(excess <= worstExcess)) [worst, worstExcess] = [i, Number.isNaN(excess) ? Number.POSITIVE_INFINITY : excess];
  }
  if (wrong === 0) return;
  const place = indexOf(worst, wanted.shape).join(", ");
  const [a, b] = [got.values[worst], wanted.values[worst]];
  throw new Error(
    `${what}: ${wrong} of ${got.values.length} elements differ; the worst is [${place}]: expected ${b}, got ${a} ` +
      `(difference ${Math.abs(a - b).toExponential(2)}, allowed ${(atol + rtol * Math.abs(b)).toExponential(2)}: ` +
      `rtol ${rtol}, atol ${atol})`,
  );
}

function laidOut(value: Tensor | Nested): { values: readonly number[]; shape: readonly number[] } {
  if (value instanceof Tensor) return { values: value.toNumbers(), shape: value.shape };
  const shape: number[] = [];
  for (let level: Nested | undefined = value; Array.isArray(level); level = level[0]) shape.push(level.length);
  const values: number[] = [];
  const visit = (item: Nested): void => {
    if (Array.isArray(item)) item.forEach(visit);
    else values.push(Number(item));
  };
  visit(value);
  return { values, shape };
}

function indexOf(position: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  let rest = position;
  for (const size of shape.toReversed()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}
