/**
 * Accuracy against coverage: the accuracy if the model answers only for the pictures with the highest confidence. The
 * risk-coverage curve (El-Yaniv and Wiener, JMLR 2010), with the confidence in the predicted class as the score.
 */

import { UsageError } from "../errors.js";
import { isRight, type Judged } from "./judged.js";

/** The model answers for `coverage` of the pictures, those with the highest confidence. */
export interface AbstentionPoint {
  /** A fraction of the pictures. */
  readonly coverage: number;
  readonly count: number;
  /** It answers if its confidence is at least this. */
  readonly threshold: number;
  /** The accuracy on the pictures for which it answers. */
  readonly accuracy: number;
}

export interface Abstention {
  /** From low to full coverage; one point for each threshold, thinned to a hundred. */
  readonly curve: readonly AbstentionPoint[];
  /** The area under the risk-coverage curve, that is, the mean of 1 − accuracy over all coverages. Lower is better. */
  readonly area: number;
  /** The same area for a perfect order, in which all mistakes come last. */
  readonly bestArea: number;
}

const POINTS = 100;

/** The curve of judged pictures. Pictures with equal confidence are included together. */
export function abstention(pictures: readonly Judged[]): Abstention {
  const ordered = pictures.toSorted((a, b) => b.confidence - a.confidence);
  const curve: AbstentionPoint[] = [];
  let [right, area, done] = [0, 0, 0];
  for (let i = 0; i < ordered.length; ) {
    const threshold = ordered[i].confidence;
    for (; i < ordered.length && ordered[i].confidence === threshold; i++) right += Number(isRight(ordered[i]));
    const accuracy = right / i;
    curve.push({ coverage: i / ordered.length, count: i, threshold, accuracy });
    area += (i - done) * (1 - accuracy);
    done = i;
  }
  const wrong = pictures.length - right;
  let bestArea = 0;
  for (let k = 1; k <= wrong; k++) bestArea += k / (pictures.length - wrong + k);
  return { curve: thinned(curve), area: area / pictures.length, bestArea: bestArea / pictures.length };
}

/** At most a hundred points, evenly spaced, including the last. */
function thinned(points: readonly AbstentionPoint[]): AbstentionPoint[] {
  if (points.length <= POINTS) return [...points];
  return Array.from({ length: POINTS }, (_, i) => points[Math.ceil(((i + 1) * points.length) / POINTS) - 1]);
}

/** The accuracy at a coverage of at least this: `accuracyAt(pictures, 0.8)`. */
export function accuracyAt(pictures: readonly Judged[], coverage: number): AbstentionPoint {
  if (!(coverage > 0 && coverage <= 1))
    throw new UsageError(`abstention: expected a coverage above 0 and of at most 1, got ${coverage}`);
  if (pictures.length === 0) throw new UsageError("abstention: expected at least one picture, got none");
  const ordered = pictures.toSorted((a, b) => b.confidence - a.confidence);
  const threshold = ordered[Math.ceil(coverage * ordered.length - 1e-9) - 1].confidence;
  const answered = ordered.filter(({ confidence }) => confidence >= threshold);
  const accuracy = answered.filter(isRight).length / answered.length;
  return { coverage: answered.length / ordered.length, count: answered.length, threshold, accuracy };
}
