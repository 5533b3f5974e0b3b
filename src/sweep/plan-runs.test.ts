import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { defineAlgorithm } from "../algorithms/algorithm.js";
import { erm } from "../algorithms/erm.js";
import { algorithms } from "../algorithms/index.js";
import { hparam, uniform } from "../hparams.js";
import { referenceJobName, referenceJobSeed } from "../reference/job.js";
import { SettingsMemo } from "../settings/memo.js";
import { resolve } from "../settings/resolve.js";
import { runName } from "../settings/settings.js";
import { planRuns } from "./plan-runs.js";
import { type GivenPart, partsOf } from "./sweep-request.js";

const shapes: GivenPart = { data: ["shapes"], trials: [0], settings: { steps: 5 } };
const plan = (given: GivenPart, options = {}) => planRuns(partsOf(undefined, { ...shapes, ...given }), options);

test("runs come in the reference's order: trial, method, held-out domains single before pairs, draw", async () => {
  const runs = await plan({ algorithms: ["ERM", "IRM"], trials: [0, 1], hparams: [0, 3], pairs: true });
  expect(runs).toHaveLength(2 * 2 * 10 * 2);
  expect(runs.slice(0, 12).map(({ request }) => [request.testDomains, request.hparamsSeed])).toEqual(
    [
      ["filled"],
      ["filled", "outlined"],
      ["filled", "textured"],
      ["filled", "inverted"],
      ["outlined"],
      ["outlined", "textured"],
    ].flatMap((domains) => [0, 3].map((seed) => [domains, seed])),
  );
  expect(runs.map(({ request }) => [request.trialSeed, request.algorithm]).filter((_, i) => i % 20 === 0)).toEqual([
    [0, "erm"],
    [0, "irm"],
    [1, "erm"],
    [1, "irm"],
  ]);
});

test("every planned run is the run that nudge train would make of its request", async () => {
  const runs = await plan({
    algorithms: ["SWAD-NU", "Mixup", "DANN"],
    hparams: [0, 5],
    pairs: true,
    grid: { lr: [1e-3, 1e-4] },
  });
  expect(new Set(runs.map(({ id }) => id)).size).toBe(runs.length);
  for (const { id, name, request } of runs) {
    const { settings } = await resolve(request);
    expect([settings.hash, runName(settings)]).toEqual([id, name]);
    expect(settings.request).toMatchObject(request);
  }
});

test("pairs of some domains are those that leave-one-domain-out needs for them, each once", async () => {
  const held = async (testDomains: string[]) =>
    (await plan({ testDomains, pairs: true })).map(({ request }) => (request.testDomains as string[]).join("+"));
  expect(await held(["outlined"])).toEqual(["outlined", "filled+outlined", "outlined+textured", "outlined+inverted"]);
  expect(await held(["outlined", "filled"])).toEqual([
    ...["outlined", "outlined+textured", "outlined+inverted"],
    ...["filled", "filled+outlined", "filled+textured", "filled+inverted"],
  ]);
  expect(await held(["filled+outlined"])).toEqual(["filled+outlined"]);
});

test("a run does not say on which device or with how many threads, unless that was given", async () => {
  const [run] = await plan({});
  for (const name of ["device", "threads", "cache", "weights"]) expect(run.request).not.toHaveProperty(name);
  const [given] = await plan({ settings: { steps: 5, device: "cuda", threads: "3" } });
  expect(given.request).toMatchObject({ device: "cuda", threads: 3 });
  expect(given.id).toBe(run.id);
});

test("a method and SWAD on it are one run, which goes on when the valley is left; SWAD alone ends there", async () => {
  const both = await plan({ algorithms: ["ERM-NU", "SWAD-NU", "SWAD"], testDomains: ["filled"] });
  expect(both.map(({ title }) => title)).toEqual([
    "shapes · filled held out · ERM-NU and SWAD · steps=5 · trial 0",
    "shapes · filled held out · ERM and SWAD · steps=5 · trial 0",
  ]);
  expect(both.map(({ request }) => request["swad.afterValley"])).toEqual(["continue", "stop"]);
});

test("regularizers are added to each algorithm, and what comes twice is planned once", async () => {
  const runs = await plan({
    algorithms: ["ERM", "ERM-NU", "Mixup"],
    regularizers: ["none", "nuclear-norm", "nuclear-norm+frobenius-norm"],
    testDomains: ["filled"],
  });
  expect(runs.map(({ request }) => [request.algorithm, ...(request.regularizers as string[])].join("+"))).toEqual([
    "erm",
    "erm+nuclear-norm",
    "erm+nuclear-norm+frobenius-norm",
    "mixup",
    "mixup+nuclear-norm",
    "mixup+nuclear-norm+frobenius-norm",
  ]);
});

test("a setting or a grid with an owner goes to the runs that have it", async () => {
  const runs = await plan({
    algorithms: ["ERM", "ERM-NU"],
    testDomains: ["filled"],
    grid: { "nuclear-norm.weight": ["0.001", "0.01"], batchSize: [4, 8] },
    settings: { steps: 5, "nuclear-norm.warmup": 0, "swad.tolerance": 0.2 },
  });
  const seen = runs.map(({ request }) => [
    request.batchSize,
    request["nuclear-norm.weight"],
    request["nuclear-norm.warmup"],
  ]);
  expect(seen).toEqual([
    [4, undefined, undefined],
    [8, undefined, undefined],
    [4, 0.001, 0],
    [8, 0.001, 0],
    [4, 0.01, 0],
    [8, 0.01, 0],
  ]);
});

test("what a search fixes by hand is fixed in every draw, also in those that would have drawn it", async () => {
  const [first] = await plan({ hparams: [1], testDomains: ["filled"] });
  const { batchSize } = first.request; // from the draw
  const runs = await plan({
    algorithms: ["ERM", "ERM-NU"],
    hparams: [0, 1, 2],
    testDomains: ["filled"],
    settings: { steps: 5001, batchSize },
  });
  expect(runs.map(({ request }) => request.fixed)).toEqual(Array(6).fill(["steps", "batchSize"]));
  expect(runs[1].id).toBe((await plan({ hparams: [1], testDomains: ["filled"], settings: { steps: 5001 } }))[0].id);
  expect((await resolve(runs[1].request)).settings.fixed).toEqual({ steps: 5001, batchSize });
});

test("a plug-in whose hyperparameter has a penalty's name is planned, and its runs can be made", async () => {
  const critic = defineAlgorithm({
    ...erm,
    id: "critic",
    title: "Critic",
    hparams: { weight: hparam(0.1, uniform(0, 1)) },
  });
  const known: Record<string, object> = algorithms;
  known.critic = critic;
  onTestFinished(() => void delete known.critic);
  const asked: GivenPart = { algorithms: ["Critic", "Critic-NU"], hparams: [0, 1], testDomains: ["filled"] };
  const runs = await plan({ ...asked, settings: { steps: 5, "critic.weight": 0.5 } });
  for (const { id, request } of runs) expect((await resolve(request)).settings.hash).toBe(id);
  expect(runs[2].request).toMatchObject({ "critic.weight": 0.5, "nuclear-norm.weight": 0.01 });
  await expect(plan({ ...asked, settings: { steps: 5, weight: 0.5 } })).rejects.toThrow(
    "weight: critic.weight or nuclear-norm.weight? The name is ambiguous; use one of these",
  );
});

test("with the reference's jobs, every run has the seed the reference would give it", async () => {
  const runs = await plan({ algorithms: ["ERM", "SWAD"], pairs: true }, { referenceJobs: true });
  const seeds = runs.map(({ request }) => request.seed);
  expect(new Set(seeds).size).toBe(10);
  expect(runs.every(({ referenceJob }) => referenceJob === undefined)).toBe(true); // DomainBed does not have this dataset
  expect((await resolve(runs[3].request)).settings.hash).toBe(runs[3].id);
});

test("a request that cannot be planned is refused with a clear error", async () => {
  await expect(plan({ testDomains: ["filed"] })).rejects.toThrow(
    'test domain "filed": dataset shapes has filled, outlined',
  );
  await expect(plan({ testDomains: ["1"] })).rejects.toThrow('Domain 1 in DomainBed\'s numbering is "outlined"');
  await expect(plan({ data: ["toy-2d"], pairs: true })).rejects.toThrow("holding out two needs at least three");
  await expect(plan({ algorithms: ["EMR"] })).rejects.toThrow('did you mean "erm"?');
  await expect(plan({ grid: { weigth: [1] }, algorithms: ["ERM-NU"] })).rejects.toThrow('unknown setting "weigth"');
});

test("the memo keeps a run's hash as it is without one", async () => {
  const memo = new SettingsMemo();
  const request = {
    data: "shapes",
    testDomains: ["inverted", "filled"],
    algorithm: "SWAD-NU",
    trialSeed: 2,
    hparamsSeed: 4,
  };
  const [once, again] = [await resolve(request, memo), await resolve(request, memo)];
  expect([once.settings.hash, again.settings.hash]).toEqual(Array(2).fill((await resolve(request)).settings.hash));
});

test("a sweep planned as the reference plans one names the same jobs", async () => {
  const root = mkdtempSync(join(tmpdir(), "nudge-pacs-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const classes = ["dog", "elephant", "giraffe", "guitar", "horse", "house", "person"];
  for (const domain of ["art_painting", "cartoon", "photo", "sketch"])
    for (const name of classes) {
      mkdirSync(join(root, "PACS", domain, name), { recursive: true });
      writeFileSync(join(root, "PACS", domain, name, "1.jpg"), "");
    }
  const weights = join(root, "resnet50.safetensors"); // a plan does not depend on its content
  writeFileSync(weights, "weights");
  const runs = await plan(
    { data: ["pacs"], algorithms: ["ERM", "SWAD"], pairs: true, hparams: [0, 3], settings: { root, weights } },
    { referenceJobs: true },
  );
  expect(runs[0].request.seed).toBe(94828300); // PACS, ERM, [0], 0, 0
  expect(runs.find(({ request }) => (request.testDomains as string[]).length === 2)!.request.seed).toBe(
    referenceJobSeed({ dataset: "PACS", algorithm: "ERM", testDomains: [0, 1], hparamsSeed: 0, trialSeed: 0 }),
  );
  const job = { dataset: "PACS", algorithm: "ERM", dataDir: root, trialSeed: 0 };
  expect(runs.slice(0, 4).map(({ referenceJob }) => referenceJob)).toEqual(
    [[0], [0, 1]].flatMap((testDomains) =>
      [0, 3].map((hparamsSeed) => referenceJobName({ ...job, testDomains, hparamsSeed })),
    ),
  );
});

test("a pair that leaves a method too few domains to train on is refused, though a single one is not", async () => {
  const manifest = join(mkdtempSync(join(tmpdir(), "nudge-few-")), "list.csv");
  onTestFinished(() => rmSync(dirname(manifest), { recursive: true, force: true }));
  const rows = ["a", "b", "c"].flatMap((domain) =>
    ["x", "y"].map((label) => `${domain}${label}.png,${label},${domain}`),
  );
  writeFileSync(manifest, ["path,label,domain", ...rows].join("\n"));
  for (const row of rows) writeFileSync(join(dirname(manifest), row.split(",")[0]), "");
  const few = { data: [manifest], algorithms: ["MLDG"], settings: { backbone: "small-cnn", pretrained: false } };
  expect(await plan(few)).toHaveLength(3);
  await expect(plan({ ...few, pairs: true })).rejects.toThrow("MLDG needs at least 2 training domains, got 1");
});

test("a plan is counted before it is made, and one that is too large is refused with its number", async () => {
  const draws = Array.from({ length: 1000 }, (_, i) => i);
  const weights = Array.from({ length: 1000 }, (_, i) => i / 1000);
  const large = plan({ algorithms: ["ERM-NU"], hparams: draws, grid: { "nuclear-norm.weight": weights } });
  await expect(large).rejects.toThrow("this plan has 4,000,000 runs; the limit is 2,000,000");
});
