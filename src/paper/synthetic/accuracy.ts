/**
 * Accuracy of a linear classifier on the whole distribution of a task.
 *
 * In two dimensions it is exact: each label and sign of the environmental feature is a uniform unit square, and the part of
 * it on the right side of the boundary is the area of a polygon. For a boundary through the origin with weights (1, t),
 * 0 ≤ t ≤ 1, this is 1 − (1 − p)·t/2 where p is the agreement: 1 − 0.15t in domain, 1 − 0.35t out of it.
 * In more dimensions it is the share of a fixed large sample.
 */

import { type Domain, type Sample, sampleTask, type Task } from "../../data/toy-task.js";
import { clipToHalfPlane } from "../../drawing/half-plane.js";
import type { Predictor } from "./model.js";

/** Points in the sample that stands for the distribution in more than two dimensions; standard error at most 0.0016. */
export const testSampleSize = 100_000;

export interface Accuracy {
  in: number;
  out: number;
}

/** True where the accuracy is by integration and not by sampling. */
export const isExact = (task: Task): boolean => task.invariant === 1 && task.environmental === 1;

/** A function that gives a classifier's accuracy in and out of the task's domain. */
export function accuracyMeter(task: Task): (predictor: Predictor) => Accuracy {
  if (isExact(task))
    return (predictor) => ({ in: exactAccuracy(task, predictor, "in"), out: exactAccuracy(task, predictor, "out") });
  const [inside, outside] = (["in", "out"] as const).map((domain) =>
    sampleTask(task, testSampleSize, domain, 0, "test"),
  );
  return (predictor) => ({ in: sampleAccuracy(inside, predictor), out: sampleAccuracy(outside, predictor) });
}

/** Accuracy on the distribution of the 2-D task, by area. A score of zero counts as class −1. */
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

/** Area of a polygon whose corners run anticlockwise. */
function area(corners: { x: number; y: number }[]): number {
  return corners.reduce((sum, p, i) => {
    const q = corners[(i + 1) % corners.length];
    return sum + (p.x * q.y - q.x * p.y) / 2;
  }, 0);
}

/** Share of a sample that is classified rightly. */
export function sampleAccuracy({ x, y, n, d }: Sample, { weights, offset }: Predictor): number {
  let right = 0;
  for (let i = 0; i < n; i++) {
    let score = offset;
    for (let j = 0; j < d; j++) score += weights[j] * x[i * d + j];
    if (score > 0 === y[i] > 0) right++;
  }
  return right / n;
}
