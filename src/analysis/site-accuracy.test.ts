import { expect, test } from "vitest";
import { softmax } from "./judged.js";
import {
  accuracyThreshold,
  confidenceEstimates,
  matchedTemperature,
  siteAccuracy,
  siteEvidence,
} from "./site-accuracy.js";

const steps = (count: number): number[] => Array.from({ length: count }, (_, i) => (i + 0.5) / count);

test("as many pictures exceed the threshold as are predicted correctly", () => {
  const threshold = accuracyThreshold([0.9, 0.5, 0.7, 0.3], 3);
  expect(threshold).toBeCloseTo(0.4);
  expect(accuracyThreshold([0.9, 0.5], 2)).toBe(0);
  expect(accuracyThreshold([0.9, 0.5], 0)).toBe(1);
});

test("the estimate is the mean in logits of the share above the threshold and of the mean confidence", () => {
  const { thresholded, confidence, accuracy } = confidenceEstimates([0.2, 0.4], steps(10));
  expect(thresholded).toBeCloseTo(0.7); // 0.35 and above
  expect(confidence).toBeCloseTo(0.5);
  expect(Math.log(accuracy / (1 - accuracy))).toBeCloseTo(Math.log(0.7 / 0.3) / 2);
});

test("the error of a fold is that of the other folds' thresholds, and one fold has none", () => {
  const a = { confidences: steps(10), right: steps(10).map((value) => value > 0.4) };
  const b = { confidences: steps(10), right: steps(10).map((value) => value > 0.8) };
  const { thresholds, errors } = siteEvidence([a, b]);
  expect(thresholds.map((value) => Number(value.toFixed(2)))).toEqual([0.4, 0.8]);
  expect(errors[0]).toBeCloseTo(confidenceEstimates([0.8], a.confidences).accuracy - 0.6);
  expect(siteEvidence([a]).errors).toEqual([]);
});

test("larger errors on held-out domains make the interval wider, and fewer pictures too", () => {
  const width = (errors: number[], count = 500): number => {
    const { interval } = siteAccuracy({ thresholds: [0.5], errors }, steps(count));
    return interval[1] - interval[0];
  };
  expect(width([0.12, -0.12, 0.12])).toBeGreaterThan(width([]));
  expect(width([0.01, 0.01, 0.01])).toBeLessThan(width([]));
  expect(width([], 20)).toBeGreaterThan(width([]));
  // 90 % of a normal distribution with the usual error of seven points.
  expect(width([], 1e6)).toBeCloseTo(2 * 1.645 * 0.07, 2);
});

test("at the matched temperature, the mean confidence is the given accuracy", () => {
  const rows = [
    [3, 0, 0],
    [1, 0.5, 0],
    [4, 3, 0],
  ];
  const temperature = matchedTemperature(rows, 0.6);
  const confidences = rows.map((row) => Math.max(...softmax(row.map((value) => value / temperature))));
  expect(confidences.reduce((a, b) => a + b) / 3).toBeCloseTo(0.6, 4);
});
