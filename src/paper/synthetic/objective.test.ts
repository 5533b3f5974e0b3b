import { expect, test } from "vitest";
import { paperTask, sampleTask } from "../../data/toy-task.js";
import { initialModel, type Model, predictorOf } from "./model.js";
import { evaluateObjective, type Objective, prepare } from "./objective.js";
import { penaltyNames } from "./penalty.js";

const task = { ...paperTask, environmental: 2 };

test.each(
  penaltyNames.flatMap((penalty) =>
    (["cross-entropy", "logistic"] as const).flatMap((loss) =>
      (["full", "diagonal"] as const).map((map) => ({ penalty, loss, map })),
    ),
  ),
)("the gradient of $loss with $penalty and a $map map agrees with central differences", ({ penalty, loss, map }) => {
  const sample = sampleTask(task, 15, "in", 0);
  const set = prepare(sample);
  for (const scaling of ["sum", "per-sample"] as const) {
    const objective: Objective = { penalty, weight: 0.3, scaling, map };
    const model = initialModel({ d: 3, loss, map, init: "normal", bias: true, seed: 1 });
    const total = () => {
      const evaluation = evaluateObjective(model, set, objective);
      return evaluation.loss + evaluation.penalty;
    };
    const { gradient, gradientNorm } = evaluateObjective(model, set, objective);
    let squares = 0;
    for (const [values, slopes] of [
      [model.map.data, gradient.map.data],
      [model.head.data, gradient.head.data],
      [model.bias!, gradient.bias!],
    ])
      for (let i = 0; i < values.length; i++) {
        squares += slopes[i] ** 2;
        const free = !(values === model.map.data && map === "diagonal" && Math.floor(i / 3) !== i % 3);
        if (!free) {
          expect(slopes[i]).toBe(0);
          continue;
        }
        const [kept, h] = [values[i], 1e-6];
        values[i] = kept + h;
        const above = total();
        values[i] = kept - h;
        const below = total();
        values[i] = kept;
        expect(Math.abs((above - below) / (2 * h) - slopes[i])).toBeLessThan(1e-8);
      }
    expect(gradientNorm).toBeCloseTo(Math.sqrt(squares), 12);
  }
});

test("the loss is the mean of ln(1 + exp(−margin)), near zero and far from it", () => {
  const sample = sampleTask(paperTask, 700, "in", 2);
  const set = prepare(sample);
  for (const scale of [0, 0.01, 1, 30, -30, -500]) {
    const model: Model = {
      map: { rows: 2, columns: 2, data: Float64Array.of(1, 0, 0, 1) },
      head: { rows: 1, columns: 2, data: Float64Array.of(scale, 0.4 * scale) },
    };
    const { weights } = predictorOf(model);
    const margins = Array.from(
      sample.y,
      (y, i) => y * (weights[0] * sample.x[2 * i] + weights[1] * sample.x[2 * i + 1]),
    );
    const mean =
      margins.reduce((sum, m) => sum + (m > 0 ? Math.log1p(Math.exp(-m)) : -m + Math.log1p(Math.exp(m))), 0) / 700;
    const { loss } = evaluateObjective(model, set, { penalty: "none", weight: 0, scaling: "sum", map: "full" });
    expect(Math.abs(loss - mean)).toBeLessThan(1e-12 * Math.max(1, mean));
  }
});

test("the per-sample scaling is the sum divided by the points, and no penalty is paid during a warm-up", () => {
  const set = prepare(sampleTask(paperTask, 40, "in", 3));
  const model = initialModel({ d: 2, loss: "cross-entropy", map: "full", init: "uniform", bias: false, seed: 0 });
  const paid = (scaling: "sum" | "per-sample", penalised = true) =>
    evaluateObjective(model, set, { penalty: "nuclear-norm", weight: 0.5, scaling, map: "full" }, penalised).penalty;
  expect(paid("sum")).toBeGreaterThan(0);
  expect(paid("per-sample")).toBeCloseTo(paid("sum") / 40, 14);
  expect(paid("sum", false)).toBe(0);
});

test("two-class cross-entropy and the logistic loss are the same function of the score", () => {
  const set = prepare(sampleTask(paperTask, 40, "in", 3));
  const two = initialModel({ d: 2, loss: "cross-entropy", map: "full", init: "normal", bias: true, seed: 0 });
  const [h, b] = [two.head.data, two.bias!];
  const one: Model = {
    map: two.map,
    head: { rows: 1, columns: 2, data: Float64Array.of(h[2] - h[0], h[3] - h[1]) },
    bias: Float64Array.of(b[1] - b[0]),
  };
  const objective: Objective = { penalty: "none", weight: 0, scaling: "sum", map: "full" };
  expect(evaluateObjective(two, set, objective).loss).toBeCloseTo(evaluateObjective(one, set, objective).loss, 14);
  expect(evaluateObjective(two, set, objective).accuracy).toBe(evaluateObjective(one, set, objective).accuracy);
});
