import { expect, test } from "vitest";
import { paperTask, sampleTask } from "../../data/toy-task.js";
import { keyedRandom } from "../../engine/philox.js";
import { accuracyMeter, exactAccuracy, sampleAccuracy } from "./accuracy.js";
import { landmarks, paperLandmarks, tiltForOut } from "./landmarks.js";

const predictor = (a: number, b: number, offset = 0) => ({ weights: Float64Array.of(a, b), offset });

test("boundaries through the origin have the closed form 1 − (1 − p)·t/2", () => {
  for (const t of [0, 0.1, 0.4, 0.9, 1]) {
    expect(exactAccuracy(paperTask, predictor(1, t), "in")).toBeCloseTo(1 - 0.15 * t, 14);
    expect(exactAccuracy(paperTask, predictor(3, 3 * t), "out")).toBeCloseTo(1 - 0.35 * t, 14);
    // With the opposite sign of x₂'s weight, the agreeing points are misclassified.
    expect(exactAccuracy(paperTask, predictor(1, -t), "out")).toBeCloseTo(1 - 0.15 * t, 14);
  }
  expect(exactAccuracy(paperTask, predictor(0, 1), "out")).toBeCloseTo(0.3, 14);
  expect(exactAccuracy(paperTask, predictor(-1, 0), "in")).toBeCloseTo(0, 14);
});

test("a classifier without weights answers one class and is right half of the time", () => {
  for (const offset of [-1, 0, 1]) expect(exactAccuracy(paperTask, predictor(0, 0, offset), "in")).toBe(0.5);
});

test("exact accuracy agrees with a million sampled points for any line", () => {
  const random = keyedRandom(0, "lines");
  const samples = { in: sampleTask(paperTask, 500_000, "in", 9), out: sampleTask(paperTask, 500_000, "out", 9) };
  for (let i = 0; i < 12; i++) {
    const line = predictor(random.normal(), random.normal(), i % 2 ? 0.5 * random.normal() : 0);
    for (const domain of ["in", "out"] as const) {
      const difference = exactAccuracy(paperTask, line, domain) - sampleAccuracy(samples[domain], line);
      expect(Math.abs(difference)).toBeLessThan(0.0036); // five standard errors at worst
    }
  }
});

test("the sampled meter of a larger task scores the invariant features perfectly and the environmental ones by agreement", () => {
  const meter = accuracyMeter({ ...paperTask, environmental: 2 });
  expect(meter({ weights: Float64Array.of(1, 0, 0), offset: 0 })).toEqual({ in: 1, out: 1 });
  const { in: inside, out } = meter({ weights: Float64Array.of(0, 1, 0), offset: 0 });
  expect(Math.abs(inside - 0.7)).toBeLessThan(0.0073);
  expect(Math.abs(out - 0.3)).toBeLessThan(0.0073);
});

test("the landmarks are where a fine search over tilts finds them", () => {
  const [, byFeatures, byWeights] = landmarks();
  const search = (norm: (t: number) => number) => {
    const tilts = Array.from({ length: 20_001 }, (_, i) => i / 20_000);
    const margin = (t: number) => (0.5 + 0.2 * t) / norm(t); // E[y w·x] for w = (1, t)
    return tilts.reduce((best, t) => (margin(t) > margin(best) ? t : best));
  };
  expect(Math.abs(search((t) => Math.sqrt((1 + t * t) / 3 + 0.2 * t)) - byFeatures.tilt)).toBeLessThan(1e-4);
  expect(Math.abs(search((t) => Math.sqrt(1 + t * t)) - byWeights.tilt)).toBeLessThan(1e-4);
  expect(byWeights.out).toBeCloseTo(0.86, 12);
});

test("the paper's accuracies imply 0.897 and 0.974 in domain for a boundary through the origin", () => {
  const [erm, nu] = paperLandmarks();
  expect([erm.out, nu.out]).toEqual([expect.closeTo(0.76, 12), expect.closeTo(0.94, 12)]);
  expect(erm.in).toBeCloseTo(1 - (0.3 / 0.7) * 0.24, 12);
  expect(nu.in).toBeCloseTo(1 - (0.3 / 0.7) * 0.06, 12);
});

test("the tilt for an accuracy is right above a tilt of 1 too, and undefined where none has it", () => {
  for (const accuracy of [1, 0.9, 0.65, 0.5, 0.35])
    expect(exactAccuracy(paperTask, predictor(1, tiltForOut(accuracy)!), "out")).toBeCloseTo(accuracy, 12);
  expect(tiltForOut(0.3)).toBeUndefined();
  expect(tiltForOut(1.1)).toBeUndefined();
});
