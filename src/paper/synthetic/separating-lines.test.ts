import { expect, test } from "vitest";
import { paperTask } from "../../data/toy-task.js";
import { sampleAccuracy } from "./accuracy.js";
import { matrix } from "./matrix.js";
import { nuclearNorm } from "./penalty.js";
import { separatingLines } from "./separating-lines.js";

const family = separatingLines(paperTask, 16, 0);
const predictor = (angle: number) => ({ weights: Float64Array.of(Math.cos(angle), Math.sin(angle)), offset: 0 });

test("every line of the family makes no training error, and lines beyond its ends do", () => {
  for (const { angle } of family.lines) expect(sampleAccuracy(family.sample, predictor(angle))).toBe(1);
  expect(sampleAccuracy(family.sample, predictor(family.angles.from - 0.01))).toBeLessThan(1);
  expect(sampleAccuracy(family.sample, predictor(family.angles.to + 0.01))).toBeLessThan(1);
});

test("its norms are the nuclear norms of the features it says, at the loss it says", () => {
  const { x, y, n } = family.sample;
  for (const line of family.lines.filter((_, i) => i % 80 === 0)) {
    const [cos, sin] = [Math.cos(line.angle), Math.sin(line.angle)];
    const scores = Array.from(y, (_, i) => x[2 * i] * cos + x[2 * i + 1] * sin);
    const length = line.full / Math.hypot(...scores); // ‖Xw‖ for |w| = 1 scales to `full`
    const loss = scores.reduce((sum, score, i) => sum + Math.log1p(Math.exp(-length * y[i] * score)), 0) / n;
    expect(loss).toBeCloseTo(family.loss, 9);
    // A = a·wᵀ with a of norm 1 gives features of rank one.
    const rankOne = matrix(
      n,
      2,
      scores.flatMap((score) => [0.6 * length * score, 0.8 * length * score]),
    );
    expect(nuclearNorm(rankOne).value).toBeCloseTo(line.full, 9);
    const diagonal = matrix(
      n,
      2,
      scores.flatMap((_, i) => [length * cos * x[2 * i], length * sin * x[2 * i + 1]]),
    );
    expect(nuclearNorm(diagonal).value).toBeCloseTo(line.diagonal, 9);
  }
});

test("the smallest of the family is no larger than any other", () => {
  for (const norm of ["full", "diagonal"] as const)
    for (const line of family.lines) expect(family.smallest[norm][norm]).toBeLessThanOrEqual(line[norm] * (1 + 1e-12));
});
