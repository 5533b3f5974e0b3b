import { expect, test } from "vitest";
import { paperTask } from "../data/toy-task.js";
import { trainSynthetic } from "../paper/synthetic/train.js";
import type { ToyEvents } from "./api.js";
import { readToySettings, trainToy } from "./toy.js";

const query = (text: string): URLSearchParams => new URLSearchParams(text);

/** What was sent, by kind. */
async function train(text: string, stopAfter = Number.POSITIVE_INFINITY) {
  const frames: ToyEvents["frame"][] = [];
  const others: string[] = [];
  let points: ToyEvents["start"]["points"] = [];
  let expected = 0;
  await trainToy(
    readToySettings(query(text)),
    (kind, data) => {
      if (kind === "frame") frames.push(data as ToyEvents["frame"]);
      else others.push(kind);
      if (kind === "start") ({ points, frames: expected } = data as ToyEvents["start"]);
    },
    () => frames.length >= stopAfter,
  );
  return { frames, others, points, expected };
}

test("both models end where nudge synthetic ends them, from the same start and on the same points", async () => {
  const { frames, others, points } = await train("samples=50&steps=400&seed=3&weight=0.05&init=normal");
  expect(others).toEqual(["start", "end"]);
  expect(points).toHaveLength(50);
  expect(frames[0].step).toBe(0);
  expect(frames[0].erm).toEqual(frames[0].nu);
  const last = frames.at(-1)!;
  expect(last.step).toBe(400);
  for (const [method, penalty] of [
    ["erm", "none"],
    ["nu", "nuclear-norm"],
  ] as const) {
    const run = trainSynthetic({
      ...{ task: paperTask, samples: 50, seed: 3, init: "normal", loss: "cross-entropy", map: "full", bias: false },
      ...{
        learningRate: 0.1,
        steps: 400,
        gradientNorm: 0,
        lossBelow: 0,
        penalty,
        weight: 0.05,
        scaling: "sum",
        warmup: 0,
      },
    });
    const { a, b, out, loss, ratio } = last[method];
    expect([a, b]).toEqual(run.predictor.weights);
    expect([out, loss]).toEqual([run.accuracy.out, run.loss]);
    expect(ratio).toBeCloseTo(run.features.ratio, 9); // by R of X = QR there, by X itself here
  }
});

test("frames go up, never twice the same, from the first step to the last", async () => {
  const { frames, expected } = await train("steps=50&samples=10");
  const steps = frames.map(({ step }) => step);
  expect(steps).toEqual([...new Set(steps)].sort((a, b) => a - b));
  expect([steps[0], steps.at(-1)]).toEqual([0, 50]);
  expect(frames).toHaveLength(expected);
});

test("training stops when no client is connected", async () => {
  const { frames, others } = await train("steps=5000&samples=1000", 3);
  expect(others).toEqual(["start"]);
  expect(frames.at(-1)!.step).toBeLessThan(5000);
});

test.each([
  ["samples=3", "samples"],
  ["samples=1e9", "samples"],
  ["samples=10.5", "samples"],
  ["steps=", "steps"],
  ["steps=5001", "steps"],
  ["weight=NaN", "weight"],
  ["weight=-1", "weight"],
  ["learningRate=0", "learningRate"],
  ["init=zero", "init"],
  ["seed=99999999999999999999", "seed"],
])("%s is refused with a clear error", (text, name) => {
  expect(() => readToySettings(query(text))).toThrow(`expected ${name}`);
});
