import { expect, test } from "vitest";
import { paperTask, sampleTask } from "../../data/toy-task.js";
import { UsageError } from "../../errors.js";
import { initialModel, predictorOf } from "./model.js";
import { separatingLines } from "./separating-lines.js";
import { type TrainOptions, trainSynthetic } from "./train.js";

const options: TrainOptions = {
  task: paperTask,
  samples: 50,
  seed: 3,
  init: "uniform",
  loss: "cross-entropy",
  map: "full",
  bias: false,
  learningRate: 0.1,
  steps: 60,
  gradientNorm: 0,
  lossBelow: 0,
  penalty: "nuclear-norm",
  weight: 0.02,
  scaling: "sum",
  warmup: 5,
};

// From PyTorch 1.13 in float64 with the same points and initial values: cross_entropy + 0.02·svdvals(F).sum() from step
// 5 on, 60 steps.
test("sixty steps end where PyTorch's do", () => {
  const run = trainSynthetic(options);
  expect(run.loss).toBeCloseTo(0.37001969629717, 12);
  expect(run.predictor.weights[0]).toBeCloseTo(1.9105555020424316, 12);
  expect(run.predictor.weights[1]).toBeCloseTo(0.036432385183247575, 12);
  expect(run.gradientNorm).toBeCloseTo(0.2265593002682925, 12);
  expect(run.features.nuclearNorm).toBeCloseTo(3.9659202284946242, 11);
});

test("a run is a function of its options, and a seed changes sample and start", () => {
  expect(trainSynthetic(options)).toEqual(trainSynthetic(options));
  expect(trainSynthetic({ ...options, seed: 4 }).predictor).not.toEqual(trainSynthetic(options).predictor);
  const starts = [0, 1].map((seed) => initialModel({ ...options, d: 2, seed }).map.data[0]);
  expect(starts[0]).not.toBe(starts[1]);
});

test("each run reports which rule ended it", () => {
  const plain = { ...options, penalty: "none", warmup: 0, steps: 5000 } as const;
  const byGradient = trainSynthetic({ ...plain, gradientNorm: 0.05 });
  expect(byGradient.stoppedBy).toBe("gradient-norm");
  expect(byGradient.gradientNorm).toBeLessThanOrEqual(0.05);
  expect(byGradient.steps).toBeLessThan(5000);
  expect(trainSynthetic({ ...plain, steps: byGradient.steps - 1 }).gradientNorm).toBeGreaterThan(0.05);
  const byLoss = trainSynthetic({ ...plain, lossBelow: 0.1 });
  expect(byLoss.stoppedBy).toBe("loss");
  expect(byLoss.loss).toBeLessThanOrEqual(0.1);
  expect(trainSynthetic({ ...plain, steps: 7 })).toMatchObject({ stoppedBy: "steps", steps: 7 });
  expect(trainSynthetic({ ...plain, steps: 0 })).toMatchObject({ stoppedBy: "steps", steps: 0 });
});

test("a short gradient does not end a run before its penalty has joined", () => {
  expect(trainSynthetic({ ...options, init: "small", gradientNorm: 1, warmup: 20 }).steps).toBeGreaterThanOrEqual(20);
});

test("checkpoints record the model of a run stopped there", () => {
  const { history } = trainSynthetic({ ...options, steps: 40 }, [
    { steps: 0 },
    { steps: 17 },
    { gradientNorm: 0.2 },
    { steps: 90 },
  ]);
  expect(history.map(({ step, reached }) => ({ step, reached }))).toEqual([
    { step: 0, reached: true },
    { step: 17, reached: true },
    { step: trainSynthetic({ ...options, gradientNorm: 0.2 }).steps, reached: true },
    { step: 40, reached: false },
  ]);
  expect(history[1].accuracy).toEqual(trainSynthetic({ ...options, steps: 17 }).accuracy);
});

test("the first step from A = I and a zero head goes along the mean of y·x", () => {
  const { x, y, n } = sampleTask(paperTask, 2000, "in", 0, "train");
  const mean = [0, 1].map(
    (j) => Array.from(y, (label, i) => label * x[2 * i + j]).reduce<number>((a, b) => a + b, 0) / n,
  );
  const { weights } = trainSynthetic({
    ...options,
    samples: 2000,
    seed: 0,
    init: "identity",
    penalty: "none",
    steps: 1,
  }).predictor;
  expect(weights[1] / weights[0]).toBeCloseTo(mean[1] / mean[0], 12);
});

test("a long ERM run turns towards the widest margin", () => {
  const n = 12;
  const erm = trainSynthetic({
    ...options,
    samples: n,
    seed: 1,
    init: "identity",
    penalty: "none",
    learningRate: 1,
    steps: 40_000,
  });
  const family = separatingLines(paperTask, n, 1);
  const { x, y } = family.sample;
  const margin = (angle: number) =>
    Math.min(...Array.from(y, (label, i) => label * (x[2 * i] * Math.cos(angle) + x[2 * i + 1] * Math.sin(angle))));
  const widest = family.lines.reduce((best, line) => (margin(line.angle) > margin(best.angle) ? line : best)).angle;
  expect(erm.trainAccuracy).toBe(1);
  expect(Math.abs(Math.atan2(erm.predictor.weights[1], erm.predictor.weights[0]) - widest)).toBeLessThan(0.03);
});

test("with a diagonal map the nuclear norm drops the environmental feature and the Frobenius norm does not", () => {
  const medianTilt = (penalty: TrainOptions["penalty"]) => {
    const tilts = [0, 1, 2, 3, 4, 5, 6].map((seed) => {
      const { weights } = trainSynthetic({
        ...options,
        seed,
        map: "diagonal",
        penalty,
        weight: 0.02,
        warmup: 0,
        steps: 2000,
      }).predictor;
      return Math.abs(weights[1] / weights[0]);
    });
    return tilts.sort((a, b) => a - b)[3];
  };
  expect(medianTilt("nuclear-norm")).toBeLessThan(0.01);
  expect(medianTilt("frobenius-norm")).toBeGreaterThan(0.03);
});

test("with a full map the two penalties end at the same boundary", () => {
  const out = (penalty: TrainOptions["penalty"]) =>
    trainSynthetic({ ...options, samples: 100, penalty, weight: 0.01, warmup: 0, steps: 3000 }).accuracy.out;
  expect(Math.abs(out("nuclear-norm") - out("frobenius-norm"))).toBeLessThan(0.002);
});

test("a diagonal map stays diagonal, and a bias is trained", () => {
  const model = initialModel({ ...options, d: 2, map: "diagonal", init: "normal" });
  expect([model.map.data[1], model.map.data[2]]).toEqual([0, 0]);
  const run = trainSynthetic({ ...options, bias: true });
  expect(run.predictor.offset).not.toBe(predictorOf(initialModel({ ...options, d: 2, bias: true })).offset);
});

test("starts have the scale their names say", () => {
  const spread = (init: TrainOptions["init"]) => {
    const { map } = initialModel({ ...options, d: 60, init });
    return Math.sqrt(map.data.reduce((sum, value) => sum + value * value, 0) / map.data.length);
  };
  expect(spread("uniform") * Math.sqrt(60)).toBeCloseTo(1 / Math.sqrt(3), 1);
  expect(spread("small")).toBeCloseTo(0.01, 3);
  expect(spread("normal")).toBeCloseTo(1, 1);
  expect([...initialModel({ ...options, d: 2, init: "identity" }).map.data]).toEqual([1, 0, 0, 1]);
});

test("settings that cannot be run are usage errors, and so is a learning rate that blows up", () => {
  for (const change of [
    { samples: 0 },
    { steps: -1 },
    { warmup: 0.5 },
    { weight: -1 },
    { learningRate: 0 },
    { gradientNorm: Number.NaN },
  ])
    expect(() => trainSynthetic({ ...options, ...change })).toThrow(UsageError);
  expect(() => trainSynthetic({ ...options, penalty: "weight-decay", weight: 1, learningRate: 1e200 })).toThrow(
    /not finite at step \d+; try a learning rate below/,
  );
});
