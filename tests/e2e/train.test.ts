/** `nudge train` from the command line to the files of a run, on generated pictures and networks of seconds. */

import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { algorithms } from "../../src/algorithms/index.js";
import { main } from "../../src/cli/main.js";
import { SHAPES_CLASSES } from "../../src/data/datasets/shapes.js";
import { Loader } from "../../src/data/loader.js";
import type { Request } from "../../src/declared-settings/keys.js";
import { liveTensors } from "../../src/engine/device.js";
import { openSafetensors } from "../../src/engine/safetensors.js";
import type { Tensor } from "../../src/engine/tensor.js";
import { loadModel } from "../../src/model/index.js";
import type { RunRecord } from "../../src/records/record.js";
import { evaluatedRuns, readRun } from "../../src/records/run.js";
import { resolve } from "../../src/settings/resolve.js";
import { evaluate } from "../../src/training/evaluate.js";
import { makeLearner } from "../../src/training/make-learner.js";
import { RunFolder } from "../../src/training/run-folder.js";
import { train } from "../../src/training/train.js";
import { makePictureFolder } from "../support/made-pictures.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-train-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const TINY = {
  data: "shapes",
  "data.perCell": 5,
  "data.size": 16,
  testDomains: "inverted",
  batchSize: 4,
  threads: 1,
  batchNormBatches: 2,
  steps: 11,
  evaluateEvery: 5,
};

async function trainIn(name: string, request: Request, stopAfter?: number): Promise<string> {
  const plan = await resolve({ ...TINY, ...request });
  const path = join(folder, name);
  using run = await RunFolder.own(path);
  if (!existsSync(join(path, "settings.json"))) run.writeJson("settings.json", plan.settings);
  let updates = 0;
  await train({ plan, folder: run, shouldStop: () => ++updates === stopAfter });
  return path;
}

const bytes = (run: string, file: string): string => readFileSync(join(run, file)).toString("latin1");
const recordsOf = (run: string): readonly RunRecord[] => readRun(run).records;

let swadRun: string;
beforeAll(async () => {
  swadRun = await trainIn("swad", { algorithm: "SWAD-NU", warmup: 3 });
});

test("the run folder has exactly the documented files", () => {
  const found = readdirSync(swadRun).sort();
  const files = ["environment.json", "log.txt", "model.safetensors", "records.jsonl", "settings.json", "timing.jsonl"];
  expect(found).toEqual(["done", "events", "figures", ...files].sort());
  const figures = ["accuracy", "loss", "ranks", "spectrum"].flatMap((name) => [`${name}.png`, `${name}.svg`]);
  expect(readdirSync(join(swadRun, "figures"))).toEqual(figures);
  expect(readdirSync(join(swadRun, "events"))).toHaveLength(1);
});

test("records have accuracy and loss of every split, logs and measures of features at each evaluation", () => {
  const records = recordsOf(swadRun);
  expect([...new Set(records.map(({ step }) => step))]).toEqual([0, 5, 10]);
  const rows = (step: number, model: string): string[] =>
    records
      .filter((row) => row.step === step && row.model === model)
      .map(({ domain, split, metric }) => `${domain} ${split} ${metric}`);
  const parts = ["filled", "outlined", "textured", "inverted"].flatMap((domain) =>
    ["in", "out"].flatMap((split) => [`${domain} ${split} accuracy`, `${domain} ${split} loss`]),
  );
  const ranks = [
    "nuclearNorm",
    "frobeniusNorm",
    "normRatio",
    "stableRank",
    "centredStableRank",
    "effectiveRank",
    "centredEffectiveRank",
  ];
  // As many singular values as there are rows: of three domains' validation pictures, and of one's.
  const places = { null: [1, 2, 4, 8, 16], inverted: [1, 2, 4] };
  const measures = Object.entries(places).flatMap(([domain, own]) =>
    [...ranks, ...own.map((place) => `singularValue${place}`)].map((metric) => `${domain} out ${metric}`),
  );
  for (const step of [0, 5, 10])
    expect(rows(step, "current")).toEqual(["null null loss", ...parts, ...measures, "null null headNorm"]);
  expect(rows(5, "swad")).toEqual([]);
  expect(rows(10, "swad")).toEqual(parts);
  expect(records.every(({ value }) => Number.isFinite(value))).toBe(true);
});

test("selection reads the run once for the trained model and once for the average", () => {
  const { runs, notes } = evaluatedRuns(readRun(swadRun));
  expect(notes).toEqual([]);
  expect(runs.map(({ method }) => method.model)).toEqual(["current", "swad"]);
});

test("evaluations can be skipped: the first, and those of training splits", async () => {
  const run = await trainIn("fewer", { evaluateFirst: false, evaluateTraining: false });
  const accuracies = recordsOf(run).filter(({ metric }) => metric === "accuracy");
  expect([...new Set(accuracies.map(({ step }) => step))]).toEqual([5, 10]);
  const parts = ["filled out", "outlined out", "textured out", "inverted in", "inverted out"];
  expect(accuracies.slice(0, 5).map(({ domain, split }) => `${domain} ${split}`)).toEqual(parts);
  const { runs, notes } = evaluatedRuns(readRun(run));
  expect({ notes, evaluations: runs[0].evaluations.length }).toEqual({ notes: [], evaluations: 2 });
});

test("averaging does not change the training: without it, the rows of the trained model are the same", async () => {
  const plain = await trainIn("plain", { algorithm: "ERM-NU", warmup: 3 });
  expect(recordsOf(plain)).toEqual(recordsOf(swadRun).filter(({ model }) => model === "current"));
});

test("more measures do not change the training: all other rows are the same", async () => {
  const all = await trainIn("measures", { algorithm: "SWAD-NU", warmup: 3, measures: "all" });
  const isNew = ({ metric }: RunRecord): boolean => /^(logits|softmaxEntropy|sharpness)/.test(metric);
  const added = recordsOf(all).filter(isNew);
  expect(recordsOf(all).filter((row) => !isNew(row))).toEqual(recordsOf(swadRun));
  const names = added.filter(({ step, domain }) => step === 10 && domain === null).map(({ metric }) => metric);
  expect(names).toEqual(expect.arrayContaining(["logitsFrobeniusNorm", "softmaxEntropy", "sharpness"]));
  const entropies = added.filter(({ metric }) => metric === "softmaxEntropy").map(({ value }) => value);
  for (const entropy of entropies) expect(entropy).toBeLessThanOrEqual(Math.log(SHAPES_CLASSES.length));
});

test("without a penalty the rows differ", async () => {
  const erm = await trainIn("erm", { algorithm: "erm" });
  const [first, last] = [0, 10].map((step) =>
    [erm, swadRun].map((run) => recordsOf(run).find((row) => row.step === step && row.metric === "headNorm")!.value),
  );
  expect(first[0]).toBe(first[1]); // before the warm-up ends they are the same
  expect(last[0]).not.toBe(last[1]);
});

test("the model file holds the averaged weights and predicts as recorded", async () => {
  const path = join(swadRun, "model.safetensors");
  using file = openSafetensors(path);
  expect(Object.keys(file.metadata).sort()).toEqual(["crc32", "nudge"]);
  const about = JSON.parse(file.metadata.nudge);
  expect(about).toMatchObject({
    model: "swad",
    step: 10,
    backbone: "small-cnn",
    width: 128,
    modules: ["backbone", "classifier"],
  });
  await expectAsRecorded(swadRun, { algorithm: "SWAD-NU", warmup: 3 });
});

/** The model of a run, loaded for use, gives the rows of its average. */
async function expectAsRecorded(run: string, request: Request): Promise<void> {
  const { dataset, split, settings } = await resolve({ ...TINY, ...request });
  using trained = await loadModel(join(run, "model.safetensors"));
  const trainDomains = settings.domains.filter((name) => name !== "inverted");
  const loader = new Loader({ dataset, split, seed: 0, trainDomains, batchSize: 4 });
  const predict = (x: Tensor): Tensor => trained.forward(x).logits;
  const rows = await evaluate({ loader, predict, split, step: settings.steps - 1, model: "swad" });
  expect(rows).toEqual(recordsOf(run).filter(({ model }) => model === "swad"));
}

test("modules that only training needs are not in the model file", async () => {
  const run = await trainIn("dann", { algorithm: "dann", steps: 1 });
  using file = openSafetensors(join(run, "model.safetensors"));
  const names = [...file.tensors.keys()].map((name) => name.split(/[./]/)[0]);
  expect(new Set(names)).toEqual(new Set(["backbone", "classifier", "distance"]));
});

test.each(Object.keys(algorithms))(
  "%s, stopped and resumed between evaluations, ends in the same bytes",
  async (algorithm) => {
    const needsStages = algorithms[algorithm].backbone?.stages;
    const request = { algorithm, averaging: "moving-average", start: 2, ...(needsStages && { backbone: "toy-cnn" }) };
    const tiny = { ...request, steps: 7, evaluateEvery: 4, "data.perCell": 2, keepCheckpoint: true };
    const [calm, rough] = [`${algorithm}-calm`, `${algorithm}-rough`];
    await trainIn(calm, tiny);
    await trainIn(rough, tiny, 3);
    expect(existsSync(join(folder, rough, "done"))).toBe(false);
    await trainIn(rough, tiny);
    for (const file of [
      "records.jsonl",
      "model.safetensors",
      "checkpoint/best.safetensors",
      "checkpoint/last.safetensors",
    ])
      expect(bytes(join(folder, rough), file) === bytes(join(folder, calm), file), file).toBe(true);
  },
);

test("a channels-last network, resumed on two threads, ends in the same bytes", async () => {
  const averages = { averaging: "swad,moving-average", "moving-average.start": 0, "swad.converge": 1 };
  const network = { backbone: "mobilenet_v2", pretrained: false, threads: 2 };
  const request = { ...averages, ...network, steps: 4, evaluateEvery: 2, "data.perCell": 2, keepCheckpoint: true };
  using learner = makeLearner(await resolve({ ...TINY, ...request }));
  expect(learner.stateDict().get("backbone.features.0.0.weight")?.isChannelsLast).toBe(true);
  const calm = await trainIn("last-calm", request);
  const rough = await trainIn("last-rough", request, 2);
  await trainIn("last-rough", request);
  const models = ["model.safetensors", "model-moving-average.safetensors"];
  for (const file of ["records.jsonl", ...models, "checkpoint/best.safetensors", "checkpoint/last.safetensors"])
    expect(bytes(rough, file) === bytes(calm, file), file).toBe(true);
  using model = await loadModel(rough);
  expect(model.network.modules.backbone.stateDict().get("features.0.0.weight")?.isChannelsLast).toBe(true);
  await expectAsRecorded(rough, request);
});

test("pictures in folders are trained on, and the run resumes after they have been moved", async () => {
  const [first, second] = ["pictures", "moved"].map((name) => join(folder, name));
  await makePictureFolder(first, { perCell: 6, domains: ["filled", "sketch", "inverted"] });
  const request = { data: first, "data.perCell": null, "data.size": null, cache: "false", steps: 3, evaluateEvery: 2 };
  const tiny = { ...request, backbone: "small-cnn", batchSize: 2 };
  const calm = await trainIn("folder-calm", tiny);
  await trainIn("folder-rough", tiny, 1);
  renameSync(first, second);
  const rough = join(folder, "folder-rough");
  expect(await main(["train", "--resume", rough, "--data", second, "--quiet"])).toBe(0);
  for (const file of ["records.jsonl", "model.safetensors"])
    expect(bytes(rough, file) === bytes(calm, file), file).toBe(true);
});

test("Mixup without domains trains on pictures without domains; between domains it reports what to set", async () => {
  await makePictureFolder(join(folder, "no-domains"), { perCell: 6, domains: ["all"] });
  const data = { data: join(folder, "no-domains", "all"), "data.perCell": null, "data.size": null, cache: "false" };
  const request = { ...data, testDomains: [], algorithm: "mixup", backbone: "small-cnn", steps: 2, evaluateEvery: 1 };
  await expect(trainIn("between", request)).rejects.toThrow("Give each domain a folder, set betweenDomains=false, or");
  const run = await trainIn("within", { ...request, betweenDomains: "false" });
  expect(existsSync(join(run, "done"))).toBe(true);
});

test("a run leaves no tensors behind", async () => {
  const before = liveTensors();
  await trainIn("leaks", { algorithm: "SWAD-NU", seed: 5 });
  expect(liveTensors()).toBe(before);
});

test.each([
  ["at an evaluation", { lr: 1e30 }],
  ["in training", { algorithm: "ERM-NU", weight: 1e39, warmup: 2 }],
])("a loss that is not finite %s ends the run with the step, the batch and a dump", async (_, request) => {
  const failed = trainIn("diverged", { ...request, evaluateEvery: 100 });
  await expect(failed).rejects.toThrow(
    /^training stopped at step \d+: .*(NaN|Infinity|nan|inf).* The batch was filled\/\d+, /s,
  );
  const dump = join(folder, "diverged", "failure");
  expect(readdirSync(dump).sort()).toEqual(["batch.safetensors", "failure.json", "weights.safetensors"]);
  expect(JSON.parse(readFileSync(join(dump, "failure.json"), "utf8")).samples).toHaveLength(12);
  const values = recordsOf(join(folder, "diverged")).map(({ value }) => value);
  expect(values.every(Number.isFinite)).toBe(true);
  expect(existsSync(join(folder, "diverged", "done"))).toBe(false);
  rmSync(join(folder, "diverged"), { recursive: true });
});

test("a resumed run times no step twice, and drops an incomplete line", async () => {
  const run = await trainIn("timed", { steps: 7, evaluateEvery: 3 }, 5);
  appendFileSync(join(run, "timing.jsonl"), '{"step":6,"seconds":9}\n{"step":6,"sec');
  await trainIn("timed", { steps: 7, evaluateEvery: 3 });
  const rows = bytes(run, "timing.jsonl").trim().split("\n");
  expect(rows.map((row) => JSON.parse(row).step)).toEqual([0, 3, 6]);
});

test("a missing device is refused", async () => {
  await expect(trainIn("device", { device: "cuda:9" })).rejects.toThrow("device cuda:9: there is none");
});

const COMMAND = "train --data shapes --test-domain filled --batch-size 4 --threads 1 data.perCell=5 data.size=16".split(
  " ",
);

test("a usage error ends with exit code 2 and changes nothing", async () => {
  const out = join(folder, "wrong");
  expect(await main([...COMMAND, "--out", out, "lrr=1"])).toBe(2);
  expect(await main([...COMMAND, "--out", out, "--steps", "none"])).toBe(2);
  expect(await main(["train", "--resume", join(folder, "nowhere")])).toBe(2);
  expect(await main(["train", "--resume", swadRun, "lr=1"])).toBe(2);
  expect(existsSync(out)).toBe(false);
});

test("the same command resumes an unfinished run, and does not change a finished one", async () => {
  const out = join(folder, "again");
  const command = [...COMMAND, "--steps", "2", "--out", out, "--quiet", "--json"];
  expect(await main(command)).toBe(0);
  const path = join(out, readdirSync(out)[0]);
  const before = bytes(path, "records.jsonl");
  expect(await main(command)).toBe(0);
  rmSync(join(path, "done"));
  expect(await main(command)).toBe(0);
  expect(existsSync(join(path, "done"))).toBe(true);
  rmSync(join(path, "done"));
  expect(await main(["train", "--resume", path, "--quiet"])).toBe(0);
  expect(bytes(path, "records.jsonl")).toBe(before);
  process.exitCode = 0;
});
