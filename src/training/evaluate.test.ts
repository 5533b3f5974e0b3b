import { expect, test } from "vitest";
import { generatedShapes } from "../data/datasets/generated-shapes.js";
import { Loader } from "../data/loader.js";
import { type SplitName, splitDataset } from "../data/split.js";
import { liveTensors } from "../engine/device.js";
import type { Tensor } from "../engine/tensor.js";
import { ACCURACY } from "../records/record.js";
import { evaluate } from "./evaluate.js";

const dataset = await generatedShapes.open({ root: null, options: { size: 20, perCell: 3 } });
const split = splitDataset(dataset.domains, { trialSeed: 0 });
const loader = new Loader({
  ...{ dataset, split, seed: 0, batchSize: 4, evaluationBatch: 7 },
  trainDomains: dataset.domains.slice(1).map(({ name }) => name),
});

/** Logits that depend only on the sample: some of its pixels. */
const predict = (x: Tensor): Tensor => x.reshape(x.rows, -1).narrow(1, 300, dataset.classes.length);
const given = { loader, predict, split, step: 2, model: "current" };

test("batches of several splits give the same accuracies, and the same losses up to rounding", async () => {
  const batches = { apart: 0, mixed: 0 };
  const counting = (name: keyof typeof batches) => (x: Tensor) => {
    batches[name]++;
    return predict(x);
  };
  const before = liveTensors();
  const apart = await evaluate({ ...given, predict: counting("apart") });
  const mixed = await evaluate({ ...given, predict: counting("mixed"), mixed: true });
  const samples = dataset.domains.reduce((sum, { count }) => sum + count, 0);
  expect(batches.mixed).toBe(Math.ceil(samples / 7));
  expect(batches.apart).toBeGreaterThan(batches.mixed);
  const without = ({ value: _, ...rest }: (typeof apart)[number]) => rest;
  expect(mixed.map(without)).toEqual(apart.map(without));
  expect(new Set(apart.map(({ value }) => value)).size).toBeGreaterThan(dataset.domains.length); // they tell splits apart
  for (const [i, { metric, value }] of mixed.entries())
    if (metric === ACCURACY) expect(value).toBe(apart[i].value);
    else expect(Math.abs(value / apart[i].value - 1)).toBeLessThan(1e-6);
  expect(liveTensors()).toBe(before);
});

test("an evaluation whose predictions were not right is repeated once", async () => {
  const expected = await evaluate(given);
  let [isWrong, checks] = [true, 0];
  const rows = await evaluate({
    ...given,
    predict: (x) => (isWrong ? predict(x).neg() : predict(x)),
    areRight: () => {
      checks++;
      isWrong = false;
      return false;
    },
  });
  expect(rows).toEqual(expected);
  expect(checks).toBe(1);
});

test("the progress counts samples, and unwanted parts have no rows", async () => {
  const progress: [number, number][] = [];
  const isWanted = (domain: string, part: SplitName): boolean => domain === dataset.domains[0].name && part === "in";
  const pause = async (done: number, samples: number): Promise<void> => void progress.push([done, samples]);
  const rows = await evaluate({ ...given, isWanted, pause });
  const samples = split.get(dataset.domains[0].name)!.in.length;
  expect(progress.at(-1)).toEqual([samples, samples]);
  expect(progress).toHaveLength(Math.ceil(samples / 7));
  expect(rows.map(({ domain, split: part, metric }) => [domain, part, metric])).toEqual([
    [dataset.domains[0].name, "in", ACCURACY],
    [dataset.domains[0].name, "in", "loss"],
  ]);
});
