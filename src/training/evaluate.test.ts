import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makePictureFolder } from "../../tests/support/made-pictures.js";
import { generatedShapes } from "../data/datasets/generated-shapes.js";
import { Loader } from "../data/loader.js";
import { openPictures } from "../data/picture-store.js";
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

test("a batch size of its own replaces the loader's", async () => {
  const sizes = new Set<number>();
  const counting = (x: Tensor): Tensor => {
    sizes.add(x.rows);
    return predict(x);
  };
  await evaluate({ ...given, predict: counting, batchSize: 5 });
  expect(Math.max(...sizes)).toBe(5);
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

test("a split without a readable picture is an error with the reason, and other unreadable pictures are left out", async () => {
  const root = mkdtempSync(join(tmpdir(), "nudge-evaluate-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const pictured = await makePictureFolder(root, { perCell: 2 });
  const [{ name, files }] = pictured.domains;
  for (const file of files.slice(0, 2)) writeFileSync(join(root, file), "");
  using pictures = await openPictures(pictured, { cache: false });
  const rowsWith = (out: number[]) => {
    const split = new Map(pictured.domains.map((each) => [each.name, { in: [3], out, uda: [] }]));
    const trainDomains = pictured.domains.map((each) => each.name);
    const loader = new Loader({ dataset: pictured, pictures, split, seed: 0, batchSize: 1, trainDomains });
    return evaluate({ ...given, loader, split, isWanted: (domain) => domain === name });
  };
  expect(await rowsWith([0, 1, 2])).toHaveLength(4);
  await expect(rowsWith([0])).rejects.toThrow(
    `evaluation: the only picture of the out split of domain "${name}" cannot be read (picture `,
  );
  await expect(rowsWith([0, 1])).rejects.toThrow(`none of the 2 pictures of the out split of domain "${name}" can be`);
});
