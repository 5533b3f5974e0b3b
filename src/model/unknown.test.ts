import { expect, test } from "vitest";
import type { ModelAbout } from "./about.js";
import { quantileAt, unknownOf, unknownRule } from "./unknown.js";

const quantiles = Array.from({ length: 101 }, (_, i) => 0.5 + i / 200); // 0.5 to 1
const about = (parts: object = {}): ModelAbout =>
  ({
    distance: { fitted: 9, compared: 9 },
    calibration: { temperature: 1, count: 9, quantiles },
    ...parts,
  }) as unknown as ModelAbout;

test("one share sets both limits: of distance from its percentile, of probability from the quantiles", () => {
  const rule = unknownRule(about(), 0.1);
  expect(rule).toEqual({ distance: 90, probability: 0.55 });
  const picture = (probability: number, percentile: number) => ({ probability, distance: { percentile } });
  expect(unknownOf(picture(0.9, 50), rule)).toBe(null);
  expect(unknownOf(picture(0.9, 91), rule)).toBe("far");
  expect(unknownOf(picture(0.54, 50), rule)).toBe("uncertain");
  expect(unknownOf(picture(0.9, 90), rule)).toBe(null);
});

test("a share of 0 marks nothing, and a file without the facts has no limits", () => {
  expect(unknownRule(about(), 0)).toEqual({ distance: null, probability: null });
  expect(unknownRule(about({ distance: null, calibration: null }))).toEqual({ distance: null, probability: null });
  expect(unknownOf({ probability: 0, distance: null }, unknownRule(about(), 0))).toBe(null);
  expect(() => unknownRule(about(), 1)).toThrow("--unknown: expected a fraction");
});

test("quantiles are read between two of them", () => {
  expect(quantileAt([0, 1, 3], 0.75)).toBe(2);
  expect(quantileAt([5], 0.5)).toBe(5);
});

test("held-out domains set the limit of distance, because almost all pictures of a new domain are far from training", () => {
  const percentiles = Array.from({ length: 101 }, (_, i) => 90 + i / 10);
  const heldOut = { domains: ["shop"], thresholds: [0.5], errors: [], calibrationError: 0.1, percentiles };
  const rule = unknownRule(about({ calibration: { temperature: 1, count: 9, quantiles, heldOut } }), 0.1);
  expect(rule.distance).toBeCloseTo(99);
});
