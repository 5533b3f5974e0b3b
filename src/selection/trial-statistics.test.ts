import { expect, test } from "vitest";
import { areEqualTrials, holm, intervalAt, pAgainst, pEquivalent, summarizeTrials } from "./trial-statistics.js";

test("three trials have the t interval of two degrees of freedom, not their smallest and largest value", () => {
  // scipy.stats.ttest_1samp([1, 2, 6], 0): t = 1.9640, p = 0.188497; the interval reaches 4.30265 standard errors.
  const { mean, trials, error, interval, p } = summarizeTrials([1, 2, 6]);
  expect([mean, trials]).toEqual([3, 3]);
  expect(error).toBeCloseTo(1.527525, 6);
  expect(interval![0]).toBeCloseTo(3 - 4.302653 * 1.527525, 4);
  expect(interval![1]).toBeCloseTo(3 + 4.302653 * 1.527525, 4);
  expect(p).toBeCloseTo(0.18849732879931097, 12);
});

test("one trial has a mean and nothing more", () => {
  expect(summarizeTrials([0.5])).toEqual({ mean: 0.5, trials: 1, error: null, interval: null, p: null });
  expect(pEquivalent(summarizeTrials([0]), 1)).toBeNull();
});

test("an interval excludes a value exactly where its p-value says so", () => {
  const summary = summarizeTrials([0.4, 1.1, 0.9, 0.2]);
  const [low, high] = summary.interval!;
  expect(pAgainst(summary, low)).toBeCloseTo(0.05, 9);
  expect(pAgainst(summary, high)).toBeCloseTo(0.05, 9);
});

test("trials that are all equal have no interval and no p-value, because their spread is not known", () => {
  for (const values of [
    [0, 0],
    [1, 1, 1],
    [0.8 - 0.7, 0.3 - 0.2],
  ]) {
    // the last two differ by rounding error
    const summary = summarizeTrials(values);
    expect(summary).toMatchObject({ trials: values.length, error: null, interval: null, p: null });
    expect(areEqualTrials(summary)).toBe(true);
    for (const value of [0, 0.5, 1]) expect(pAgainst(summary, value)).toBeNull();
    expect(pEquivalent(summary, 0.5)).toBeNull();
    expect(intervalAt(summary, 0.9)).toBeNull();
  }
  for (const values of [[0.1], [0.1, 0.1 + 1e-9], [0.1, Number.NaN]])
    expect(areEqualTrials(summarizeTrials(values))).toBe(false);
});

test("two one-sided tests reject at 5 % exactly where the 90 % interval lies inside the margin", () => {
  const summary = summarizeTrials([0.1, 0.3, -0.1, 0.2, 0.05]);
  const [, high] = intervalAt(summary, 0.9)!;
  expect(pEquivalent(summary, high)).toBeCloseTo(0.05, 9);
  expect(pEquivalent(summary, high + 0.01)).toBeLessThan(0.05);
  expect(pEquivalent(summary, high - 0.01)).toBeGreaterThan(0.05);
  // A mean outside the margin is no evidence of equivalence.
  expect(pEquivalent(summarizeTrials([1, 1.2, 0.9]), 0.5)).toBeGreaterThan(0.5);
});

test("Holm's correction multiplies by how many are left, keeps the order, and passes over what is not known", () => {
  // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02
  const corrected = holm([0.01, 0.04, null, 0.03, 0.005]);
  expect(corrected.map((p) => p && Number(p.toFixed(12)))).toEqual([0.03, 0.06, null, 0.06, 0.02]);
  expect(holm([0.9, 0.8])).toEqual([1, 1]);
});
