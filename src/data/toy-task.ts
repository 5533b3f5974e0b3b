/**
 * The data of Section 3.1, and its general form in Section 4.
 *
 * The label y is −1 or 1 with equal probability. Each invariant feature has the sign of y: U[0,1] for y = 1, U[−1,0]
 * for y = −1. Each environmental feature has the same magnitude, and the sign of y with probability 0.7 in domain and
 * 0.3 out of domain (½ ± γ with γ = 0.2 in the terms of Section 4). The paper states this for y = 1; y = −1 is its
 * mirror image. Features are independent given y. The 2-D task has one of each.
 */
import { keyedRandom } from "../engine/philox.js";
import { UsageError } from "../errors.js";

export interface Task {
  /** The number of features that always agree with the label: r. */
  invariant: number;
  /** The number of features that agree with it with a probability that depends on the domain: d − r. */
  environmental: number;
  /** The probability that an environmental feature agrees with the label, by domain. */
  agreement: { in: number; out: number };
}

/** In domain (training) or out of domain (test). */
export type Domain = keyof Task["agreement"];

/** The task of Section 3.1. */
export const paperTask: Task = { invariant: 1, environmental: 1, agreement: { in: 0.7, out: 0.3 } };

/** Points of a task: row i of x (n×d, row-major) with label y[i] of −1 or 1. Invariant features come first. */
export interface Sample {
  x: Float64Array;
  y: Int8Array;
  n: number;
  d: number;
}

/** Throws a UsageError for an invalid task. */
export function checkTask(task: Task): void {
  const { invariant, environmental, agreement } = task;
  if (!Number.isInteger(invariant) || invariant < 1)
    throw new UsageError(`synthetic task: expected at least one invariant feature, got ${invariant}`);
  if (!Number.isInteger(environmental) || environmental < 0)
    throw new UsageError(`synthetic task: expected zero or more environmental features, got ${environmental}`);
  for (const p of [agreement.in, agreement.out])
    if (!(p >= 0 && p <= 1)) throw new UsageError(`synthetic task: expected an agreement from 0 to 1, got ${p}`);
}

/**
 * Draws n points. The same seed, domain and purpose give the same points, and a longer sample starts with the shorter
 * one.
 */
export function sampleTask(task: Task, n: number, domain: Domain, seed: number, purpose = "sample"): Sample {
  checkTask(task);
  const d = task.invariant + task.environmental;
  const random = keyedRandom(seed, "synthetic", purpose, domain);
  const x = new Float64Array(n * d);
  const y = new Int8Array(n);
  for (let i = 0; i < n; i++) {
    y[i] = random.bernoulli(0.5) ? 1 : -1;
    for (let j = 0; j < d; j++) {
      const agrees = j < task.invariant || random.bernoulli(task.agreement[domain]);
      x[i * d + j] = random.uniform() * (agrees ? y[i] : -y[i]);
    }
  }
  return { x, y, n, d };
}
