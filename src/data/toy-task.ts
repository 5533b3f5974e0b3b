/**
 * The data of Section 3.1, and its general form of Section 4.
 *
 * A label y of −1 or 1, each half of the time. Each invariant feature has y's sign: U[0,1] for y = 1, U[−1,0] for y = −1.
 * Each environmental feature is as large, and has y's sign with probability 0.7 in domain and 0.3 out of it (½ ± γ with
 * γ = 0.2 in Section 4's terms). The paper writes this out for y = 1; y = −1 is its mirror image. Features are independent
 * given y. The 2-D task has one of each.
 */
import { keyedRandom } from "../engine/philox.js";
import { UsageError } from "../errors.js";

export interface Task {
  /** How many features always agree with the label: r. */
  invariant: number;
  /** How many agree with it only by a probability that changes with the domain: d − r. */
  environmental: number;
  /** Probability that an environmental feature agrees with the label, by domain. */
  agreement: { in: number; out: number };
}

/** In domain (training) or out of it (test). */
export type Domain = keyof Task["agreement"];

/** Section 3.1's task. */
export const paperTask: Task = { invariant: 1, environmental: 1, agreement: { in: 0.7, out: 0.3 } };

/** Points of a task: row i of x (n×d, row after row) with label y[i] of −1 or 1; invariant features come first. */
export interface Sample {
  x: Float64Array;
  y: Int8Array;
  n: number;
  d: number;
}

/** Throws a UsageError for a task that makes no sense. */
export function checkTask(task: Task): void {
  const { invariant, environmental, agreement } = task;
  if (!Number.isInteger(invariant) || invariant < 1)
    throw new UsageError(`synthetic task: expected at least one invariant feature, got ${invariant}`);
  if (!Number.isInteger(environmental) || environmental < 0)
    throw new UsageError(`synthetic task: expected zero or more environmental features, got ${environmental}`);
  for (const p of [agreement.in, agreement.out])
    if (!(p >= 0 && p <= 1)) throw new UsageError(`synthetic task: expected an agreement from 0 to 1, got ${p}`);
}

/** Draws n points. The same seed, domain and purpose give the same points; a longer sample begins with the shorter one. */
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
