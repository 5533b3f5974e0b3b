/**
 * The accuracy of a linear classifier on the whole distribution of a task.
 *
 * In two dimensions it is exact: each combination of a label and a sign of the environmental feature is a uniform unit
 * square, and its part on the correct side of the decision boundary is the area of a polygon. For a boundary through
 * the origin with weights (1, t), 0 ≤ t ≤ 1, this is 1 − (1 − p)·t/2, where p is the agreement: 1 − 0.15t in domain, 1
 * − 0.35t out of domain.
 *
 * In more dimensions it is the accuracy on a fixed large sample.
 */

import { type Domain, type Sample, sampleTask, type Task } from "../../data/toy-task.js";
import { clipToHalfPlane } from "../../drawing/half-plane.js";
import type { Predictor } from "./model.js";

/** The size of the sample in more than two dimensions. The standard error is at most 0.0016. */
export const testSampleSize = 100_000;

export interface Accuracy {
  in: number;
  out: number;
}

/** Returns true if the accuracy is computed by integration and not by sampling. */
export const isExact = (task: Task): boolean => task.invariant === 1 && task.environmental === 1;

/** Returns a function that computes a classifier's accuracy in and out of the task's domain. */
export function accuracyMeter(task: Task): (predictor: Predictor) => Accuracy {
  if (isExact(task))
    return (predictor) => ({ in: exactAccuracy(task, predictor, "in"), out: exactAccuracy(task, predictor, "out") });
  const [inside, outside] = (["in", "out"] as const).map((domain) =>
    sampleTask(task, testSampleSize, domain, 0, "test"),
  );
  return (predictor) => ({ in: sampleAccuracy(inside, predictor), out: sampleAccuracy(outside, predictor) });
}

/**
 * Returns the accuracy on the distribution of the 2-D task, computed from areas. A score of zero counts as class −1.
 */
export function exactAccuracy(task: Task, { weights, offset }: Predictor, domain: Domain): number {
  const plane = { a: weights[0], b: weights[1], c: offset };
  let accuracy = 0;
  for (const y of [-1, 1])
    for (const agrees of [true, false]) {
      const sign = agrees ? y : -y;
      const box = { x0: Math.min(0, y), x1: Math.max(0, y), y0: Math.min(0, sign), y1: Math.max(0, sign) };
      const positive = area(clipToHalfPlane(box, plane));
      const probability = agrees ? task.agreement[domain] : 1 - task.agreement[domain];
      accuracy += 0.5 * probability * (y > 0 ? positive : 1 - positive);
    }
  return accuracy;
}

/** Returns the area of a polygon with anticlockwise corners. */
function area(corners: { x: number; y: number }[]): number {
  return corners.reduce((sum, p, i) => {
    const q = corners[(i + 1) % corners.length];
    return sum + (p.x * q.y - q.x * p.y) / 2;
  }, 0);
}

/** Returns the share of a sample that is classified correctly. */
export function sampleAccuracy({ x, y, n, d }: Sample, { weights, offset }: Predictor): number {
  let right = 0;
  for (let i = 0; i < n; i++) {
    let score = offset;
    for (let j = 0; j < d; j++) score += weights[j] * x[i * d + j];
    if (score > 0 === y[i] > 0) right++;
  }
  return right / n;
}
