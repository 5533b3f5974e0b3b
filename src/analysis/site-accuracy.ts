/**
 * Estimates the accuracy of a model on pictures without labels, from its confidence, and says how much the estimate is worth.
 *
 * Average thresholded confidence (Garg et al., Leveraging Unlabeled Data to Predict Out-of-Distribution Performance, ICLR
 * 2022): on a domain with labels, a threshold is set so that as many pictures exceed it as are predicted correctly; the
 * share of unlabelled pictures above it is the estimate. The other estimate is the mean confidence. The two or three folds of
 * a user's pictures are too few to choose between them, so their mean (in logits) is used. On PACS and Office-31, with
 * which this was made, neither is always better (docs/results/own-pictures.md).
 */

import { softmax } from "./judged.js";
import { LEAST_TEMPERATURE, MOST_TEMPERATURE } from "./temperature.js";

/** The standard deviation of the error of an estimate on PACS and Office-31, a fraction, and its weight in held-out domains. */
const USUAL_ERROR = 0.07;
const USUAL_WEIGHT = 16;
/** The normal quantile for intervals of 90 %. */
const NORMAL_90 = 1.645;

/** What held-out domains say about estimates, which a model file stores. */
export interface SiteEvidence {
  /** For each fold of held-out domains, the threshold of the confidence at T = 1. */
  readonly thresholds: readonly number[];
  /** For each fold, its estimate by the thresholds of the other folds, less its accuracy; empty with a single fold. */
  readonly errors: readonly number[];
}

export interface SiteAccuracy {
  readonly accuracy: number;
  /** The interval in which the accuracy is with a probability of 90 %. */
  readonly interval: readonly [number, number];
  /** The two parts: average thresholded confidence, and average confidence. */
  readonly thresholded: number;
  readonly confidence: number;
}

const mean = (values: ArrayLike<number>): number => {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i];
  return sum / values.length;
};

/** The confidence that as many pictures exceed as are predicted correctly. */
export function accuracyThreshold(confidences: ArrayLike<number>, right: number): number {
  const sorted = Float64Array.from(confidences).sort();
  const wrong = sorted.length - right;
  if (wrong <= 0) return 0;
  if (wrong >= sorted.length) return 1;
  return (sorted[wrong - 1] + sorted[wrong]) / 2;
}

/** Probabilities this close to 0 and 1 are taken for them in logits. */
const EDGE = 0.005;
const logit = (p: number): number => {
  const inside = Math.min(1 - EDGE, Math.max(EDGE, p));
  return Math.log(inside / (1 - inside));
};

/** The two estimates and their mean in logits, for confidences at T = 1. */
export function confidenceEstimates(
  thresholds: readonly number[],
  confidences: ArrayLike<number>,
): Pick<SiteAccuracy, "accuracy" | "thresholded" | "confidence"> {
  const threshold = mean(thresholds);
  const thresholded = mean(Array.from(confidences, (value) => (value > threshold ? 1 : 0)));
  const confidence = mean(confidences);
  const accuracy = 1 / (1 + Math.exp(-(logit(thresholded) + logit(confidence)) / 2));
  return { accuracy, thresholded, confidence };
}

/** The evidence of folds of held-out domains: for each, the confidences at T = 1 and which predictions are correct. */
export function siteEvidence(
  folds: readonly { confidences: readonly number[]; right: readonly boolean[] }[],
): SiteEvidence {
  const counted = folds.filter(({ confidences }) => confidences.length > 0);
  const thresholds = counted.map(({ confidences, right }) =>
    accuracyThreshold(confidences, right.filter(Boolean).length),
  );
  const errors = counted.map(({ confidences, right }, held) => {
    const others = thresholds.filter((_, i) => i !== held);
    return confidenceEstimates(others, confidences).accuracy - right.filter(Boolean).length / right.length;
  });
  return { thresholds, errors: counted.length > 1 ? errors : [] };
}

/** Estimates the accuracy on pictures without labels; `confidences` are at T = 1. */
export function siteAccuracy({ thresholds, errors }: SiteEvidence, confidences: ArrayLike<number>): SiteAccuracy {
  const estimates = confidenceEstimates(thresholds, confidences);
  const { accuracy } = estimates;
  // A few held-out domains say little about the size of errors, so each counts as one of many, and none for more than twice the usual.
  const squares = errors.map((error) => Math.min(error ** 2, (2 * USUAL_ERROR) ** 2));
  const sum = squares.reduce((a, b) => a + b, USUAL_WEIGHT * USUAL_ERROR ** 2);
  const spread = Math.sqrt(
    sum / (USUAL_WEIGHT + errors.length) + (accuracy * (1 - accuracy)) / Math.max(1, confidences.length),
  );
  const interval = [Math.max(0, accuracy - NORMAL_90 * spread), Math.min(1, accuracy + NORMAL_90 * spread)] as const;
  return { ...estimates, interval };
}

/** The temperature at which the mean confidence of rows of logits equals an accuracy. */
export function matchedTemperature(rows: readonly ArrayLike<number>[], accuracy: number): number {
  const confidence = (temperature: number): number =>
    mean(rows.map((row) => Math.max(...softmax(Array.from(row, (value) => value / temperature)))));
  let [low, high] = [LEAST_TEMPERATURE, MOST_TEMPERATURE];
  for (let i = 0; i < 30; i++) {
    const middle = Math.sqrt(low * high);
    if (confidence(middle) > accuracy) low = middle;
    else high = middle;
  }
  return Math.sqrt(low * high);
}
