import { expect, test } from "vitest";
import { calibration } from "./calibration.js";
import { judgedAs } from "./judged.fixture.js";

test("a model whose accuracy equals its confidence has no calibration error", () => {
  const pictures = Array.from({ length: 10 }, (_, i) => judgedAs(0, i < 8 ? 0 : 1, 0.8));
  const { ece, worst, overconfidence } = calibration(pictures);
  expect([ece, worst, overconfidence]).toEqual([0, 0, 0].map((value) => expect.closeTo(value, 12)));
});

test("the error is the gap of each bin, weighed by its pictures", () => {
  const sure = Array.from({ length: 4 }, (_, i) => judgedAs(0, i < 2 ? 0 : 1, 0.95)); // right half the time
  const unsure = Array.from({ length: 6 }, () => judgedAs(0, 0, 0.55)); // always right
  const { ece, worst, overconfidence, bins } = calibration([...sure, ...unsure], { bins: 10 });
  expect(ece).toBeCloseTo(0.4 * 0.45 + 0.6 * 0.45, 12);
  expect(worst).toBeCloseTo(0.45, 12);
  expect(overconfidence).toBeCloseTo(0.4 * 0.45 - 0.6 * 0.45, 12);
  expect(bins.filter(({ count }) => count > 0)).toMatchObject([
    { from: 0.5, count: 6, accuracy: 1 },
    { from: 0.9, to: 1, count: 4, accuracy: 0.5 },
  ]);
});

test("bins are open below and closed above, and a confidence of 1 is in the last", () => {
  const { bins } = calibration([judgedAs(0, 0, 0.5), judgedAs(0, 0, 1)], { bins: 2 });
  expect(bins.map(({ count }) => count)).toEqual([1, 1]);
});

test("no bins are refused", () => {
  expect(() => calibration([], { bins: 0 })).toThrow("expected an integer number of bins of at least 1, got 0");
});
