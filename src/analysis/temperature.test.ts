import { expect, test } from "vitest";
import { fitTemperature, LEAST_TEMPERATURE, MOST_TEMPERATURE } from "./temperature.js";

/** Two classes, logits ±a, right in `right` of `count`. */
function twoClasses(a: number, right: number, count: number): [number[][], number[]] {
  return [Array.from({ length: count }, () => [a, -a]), Array.from({ length: count }, (_, i) => (i < right ? 0 : 1))];
}

test("with two classes and one confidence, the temperature makes the probability the smoothed accuracy", () => {
  const [a, right, count] = [3, 80, 100];
  // sigmoid(2a/T) = t, so T = 2a/ln(t/(1 − t)); each target is smoothed by 1/(n + 2).
  const t = (right / count) * (1 - 1 / (count + 2)) + (1 - right / count) / (count + 2);
  expect(fitTemperature(...twoClasses(a, right, count))).toBeCloseTo((2 * a) / Math.log(t / (1 - t)), 9);
});

test("an overconfident model gets a higher temperature, an underconfident one a lower one, and a calibrated one keeps its temperature", () => {
  expect(fitTemperature(...twoClasses(5, 70, 100))).toBeGreaterThan(5);
  expect(fitTemperature(...twoClasses(0.2, 95, 100))).toBeLessThan(0.2);
  const calibrated = Math.log(4) / 2; // sigmoid(2a) = 0.8
  expect(fitTemperature(...twoClasses(calibrated, 8000, 10_000))).toBeCloseTo(1, 3);
});

test("a model without a mistake, and one that is always wrong, get finite temperatures within the limits", () => {
  expect(fitTemperature(...twoClasses(3, 50, 50))).toBeCloseTo(6 / Math.log(51), 9);
  expect(fitTemperature(...twoClasses(3, 0, 50))).toBeCloseTo(MOST_TEMPERATURE, 9);
  expect(fitTemperature(...twoClasses(1e-3, 50, 50))).toBeCloseTo(LEAST_TEMPERATURE, 9);
  expect(fitTemperature([], [])).toBe(1);
});
