import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defineAlgorithm } from "../algorithms/algorithm.js";
import { pairedModels } from "../analysis/paired-models.js";
import { movingAverage } from "../averaging/index.js";
import type { Dataset } from "../data/dataset.js";
import { openDataset } from "../data/open-dataset.js";
import { liveTensors } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { tensor } from "../engine/tensor.js";
import { hparam, uniform } from "../hparams.js";
import { crossEntropy } from "../nn/index.js";
import { defineRegularizer, nuclearNorm } from "../regularizers/index.js";
import { resolve } from "../settings/resolve.js";
import { evaluate } from "./evaluate.js";
import { planRun, type TrainOptions, train } from "./train.js";

const place = mkdtempSync(join(tmpdir(), "nudge-library-"));
afterAll(() => rmSync(place, { recursive: true, force: true }));

let dataset: Dataset;
beforeAll(async () => {
  dataset = await openDataset("shapes", { options: { perCell: 2, size: 16 } });
});

const tiny = (): TrainOptions => ({
  dataset,
  testDomains: ["inverted"],
  backbone: "small-cnn",
  steps: 3,
  evaluateEvery: 2,
  threads: 1,
  settings: { batchSize: 4 },
});

const temporaryRuns = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith("nudge-run-"));

test("a run in memory returns records, a model that predicts and its assessment, and leaves no file", async () => {
  const before = temporaryRuns();
  const steps: number[] = [];
  const evaluated: number[] = [];
  const lines: string[] = [];
  using run = await train({
    ...tiny(),
    regularizers: [nuclearNorm({ weight: 0.05 })],
    averaging: [movingAverage],
    onStep: ({ step }) => steps.push(step),
    onEvaluation: (records) => evaluated.push(records[0].step),
    onLog: (line) => lines.push(line),
  });
  expect(steps).toEqual([1, 2, 3]);
  expect(evaluated).toEqual([0, 2]);
  expect(lines.join("\n")).toContain("step 2");
  expect(run.settings.regularizers).toMatchObject([{ id: "nuclear-norm", settings: { weight: 0.05 } }]);
  expect(run.settings.fixed).toMatchObject({ "nuclear-norm.weight": 0.05, steps: 3 });
  expect(new Set(run.records.map(({ model }) => model))).toEqual(new Set(["current", "moving-average"]));
  expect(run.assessment.domains.find(({ name }) => name === "inverted")).toMatchObject({ count: 14 });
  const predictions = scope(() =>
    run.model.predictTensor(tensor(new Float32Array(3 * 256), { shape: [1, 3, 16, 16] })),
  );
  expect(dataset.classes).toContain(predictions[0].label);
  expect(run.folder).toBeNull();
  expect(temporaryRuns()).toEqual(before);
});

test("the settings are those of the command line's request", async () => {
  const given = await planRun({ ...tiny(), algorithm: "ERM-NU", seed: 3 });
  const request = {
    data: "shapes",
    "data.perCell": 2,
    "data.size": 16,
    testDomains: ["inverted"],
    backbone: "small-cnn",
  };
  const words = { ...request, steps: 3, evaluateEvery: 2, threads: 1, batchSize: 4, algorithm: "ERM-NU", seed: 3 };
  const { settings } = await resolve(words);
  expect(given.settings).toEqual(settings);
});

test("a run folder is resumed after an abort, read when it is done, and refused to other settings", async () => {
  const folder = join(place, "run");
  const stop = new AbortController();
  const stopped = train({
    ...tiny(),
    folder,
    signal: stop.signal,
    onStep: ({ step }) => step === 2 && stop.abort(new Error("enough")),
  });
  await expect(stopped).rejects.toThrow("enough");
  expect(existsSync(join(folder, "done"))).toBe(false);
  const steps: number[] = [];
  using resumed = await train({ ...tiny(), folder, onStep: ({ step }) => steps.push(step) });
  expect(steps).toEqual([3]);
  using whole = await train(tiny());
  expect(resumed.records).toEqual(whole.records);
  using read = await train({ ...tiny(), folder, onStep: () => expect.unreachable("nothing is trained") });
  expect(read.records).toEqual(whole.records);
  expect(read.assessment).toEqual(whole.assessment);
  await expect(train({ ...tiny(), folder, seed: 1 })).rejects.toThrow(/has other settings/);
  await expect(train({ ...tiny(), folder, out: place })).rejects.toThrow(/either `folder`/);
  await expect(train({ ...tiny(), signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
});

/** ERM with a scaled loss, as a program would define it. */
const scaled = (title: string, factor: number) =>
  defineAlgorithm({
    id: "scaled-erm",
    title,
    paper: "none",
    needsDomains: false,
    hparams: { scale: hparam(factor, uniform(0.5, 2)) },
    build: ({ backbone, classifier, hparams: { scale } }) => ({
      modules: { backbone, classifier },
      step({ x, y }) {
        const features = backbone.forward(x);
        return { loss: crossEntropy(classifier.forward(features), y).mul(scale), features };
      },
      predict: (x) => classifier.forward(backbone.forward(x)),
    }),
  });

test("a definition trains by itself; another of its id replaces it, and gets a folder of its own", async () => {
  const out = join(place, "runs");
  using first = await train({ ...tiny(), out, algorithm: scaled("Scaled", 1) });
  expect(first.settings.plugins).toMatchObject([{ file: "algorithm scaled-erm" }]);
  using second = await train({
    ...tiny(),
    out,
    algorithm: scaled("Scaled", 2),
    settings: { batchSize: 4, scale: 1.5 },
  });
  expect(second.folder).not.toBe(first.folder);
  expect(readdirSync(out).length).toBe(2);
  const taken = { ...scaled("Scaled", 1), id: "erm" };
  await expect(train({ ...tiny(), algorithm: taken })).rejects.toThrow(/has the name of another, erm/);
});

test("a penalty of the program's own is registered with its settings", async () => {
  const small = defineRegularizer({
    id: "small-features",
    title: "SMALL",
    paper: "none",
    hparams: { weight: hparam(0.01, uniform(0, 1)) },
    penalty: ({ features }) => features.abs().mean(),
  });
  using run = await train({ ...tiny(), regularizers: [small({ weight: 0.5 })] });
  expect(run.settings.regularizers).toEqual([{ id: "small-features", settings: { weight: 0.5 } }]);
});

test("a model is evaluated on a dataset, and two models on the same samples", async () => {
  using first = await train({ ...tiny() });
  using second = await train({ ...tiny(), seed: 1 });
  const options = { domains: ["inverted", "filled"] };
  const [one, two] = [await evaluate(first.model, dataset, options), await evaluate(second.model, dataset, options)];
  expect(one.domains.map(({ domain, count }) => [domain, count])).toEqual([["inverted", 14], ["filled", 14]]); // biome-ignore format: pairs
  const held = first.assessment.domains.find(({ name }) => name === "inverted")!;
  expect(one.domains[0].accuracy).toBe(held.accuracy);
  const pair = pairedModels(one.pictures, two.pictures);
  expect(pair.count).toBe(28);
  expect(pair.difference).toBeCloseTo(two.overall.accuracy - one.overall.accuracy, 12);
});

test("a run that is disposed of leaves no tensors behind", async () => {
  const used = liveTensors();
  {
    using _ = await train(tiny());
  }
  expect(liveTensors()).toBe(used);
});

test("T3A adapts to each average too: with one that equals the weights it has the same rows", async () => {
  const settings = { batchSize: 4, t3a: 2, "moving-average.start": 2 };
  using run = await train({ ...tiny(), averaging: ["moving-average"], settings });
  const last = Math.max(...run.records.map(({ step }) => step));
  const rowsOf = (model: string) =>
    run.records
      .filter((row) => row.model === model && row.step === last && row.domain !== null)
      .map(({ domain, split, metric, value }) => ({ domain, split, metric, value }));
  expect(rowsOf("t3a").length).toBeGreaterThan(4);
  expect(rowsOf("t3a+moving-average")).toEqual(rowsOf("t3a"));
  expect(rowsOf("t3a")).not.toEqual(rowsOf("moving-average"));
});
