/**
 * The prediction of a model for one labelled picture, reduced to the few numbers that all measures need. Its size does
 * not depend on the number of classes, so a large dataset fits into memory.
 */

import { UsageError } from "../errors.js";

/** A labelled picture and the prediction of the model. Classes are indices. */
export interface Judged {
  /** The picture's file or name. */
  readonly name: string;
  readonly domain: string;
  /** The true class. */
  readonly label: number;
  /** The predicted class; the first of equals. */
  readonly predicted: number;
  /** The probability of the predicted class. */
  readonly confidence: number;
  /** The probability of the true class. */
  readonly truth: number;
  /** The cross-entropy, −ln of `truth`, computed from the logits, so that it is exact even if `truth` rounds to 0. */
  readonly loss: number;
  /** The squared distance between the probabilities and the truth, Σ(p − y)²: from 0 to 2 (Brier, 1950). */
  readonly brier: number;
}

/** The same with its logits, before any temperature. */
export interface JudgedLogits extends Judged {
  readonly logits: readonly number[];
}

/** Softmax of logits. The largest is subtracted first to prevent overflow. */
export function softmax(logits: ArrayLike<number>): Float64Array {
  const values = Float64Array.from(logits);
  const most = values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  let sum = 0;
  for (const [i, value] of values.entries()) {
    values[i] = Math.exp(value - most);
    sum += values[i];
  }
  return values.map((value) => value / sum);
}

/** Judges one picture by its logits, divided by the temperature of a calibrated model. */
export function judge(
  given: ArrayLike<number>,
  { name, domain, label }: { name: string; domain: string; label: number },
  temperature = 1,
): Judged {
  const logits = Array.from(given, (logit) => logit / temperature);
  if (!Number.isInteger(label) || label < 0 || label >= logits.length)
    throw new UsageError(`judging ${name}: expected a class from 0 to ${logits.length - 1}, got ${label}`);
  const probabilities = softmax(logits);
  if (!probabilities.every(Number.isFinite))
    throw new UsageError(`judging ${name}: expected finite logits, got ${Array.from(logits).join(", ")}`);
  const predicted = probabilities.indexOf(probabilities.reduce((a, b) => Math.max(a, b)));
  const truth = probabilities[label];
  // −ln p = ln Σ exp(l − l_max) − (l_y − l_max), and 1/confidence is that sum.
  const loss = -Math.log(probabilities[predicted]) + (logits[predicted] - logits[label]);
  const squares = probabilities.reduce((sum, p) => sum + p * p, 0);
  return {
    ...{ name, domain, label, predicted, confidence: probabilities[predicted], truth },
    ...{ loss, brier: squares - 2 * truth + 1 },
  };
}

/** Whether the prediction is correct. */
export const isRight = ({ label, predicted }: Pick<Judged, "label" | "predicted">): boolean => label === predicted;
