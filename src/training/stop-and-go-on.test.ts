/** Tests that a run that is stopped at any point (updates, evaluations, its end) and resumed ends in the same bytes. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { RunRecord } from "../records/record.js";
import { resolve } from "../settings/resolve.js";
import { RunFolder, readTrainSettings } from "./run-folder.js";
import { train } from "./train.js";

const home = mkdtempSync(join(tmpdir(), "nudge-stop-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const REQUEST = {
  data: "shapes",
  ...{ "data.perCell": 3, "data.size": 16, testDomains: "textured", batchSize: 4, threads: 1, device: "cpu" },
  ...{ steps: 7, evaluateEvery: 3, averaging: "swad,moving-average", "moving-average.start": 2, "swad.converge": 2 },
};

/** Trains in a folder until the n-th check for a stop. Returns whether it is done, and its log. */
async function trainUntil(path: string, n: number, more: object = {}): Promise<{ done: boolean; log: string }> {
  const plan = await resolve({ ...REQUEST, ...more });
  using folder = await RunFolder.own(path);
  folder.writeJson("settings.json", plan.settings);
  let asked = 0;
  const beforeDone = async ({ pause }: { pause(): Promise<void> }): Promise<void> => {
    for (let i = 0; i < 3; i++) await pause();
  };
  const { done } = await train({ plan, folder, shouldStop: () => ++asked >= n, beforeDone });
  return { done, log: readFileSync(folder.file("log.txt"), "utf8") };
}

const determined = (run: string): Map<string, string> =>
  new Map(
    (readdirSync(run, { recursive: true }) as string[])
      .filter((name) => statSync(join(run, name)).isFile())
      .filter((name) => !/(^|\/)((lock|events)\/|(environment\.json|log\.txt|timing\.jsonl)$)/.test(name))
      .sort()
      .map((name) => [name, readFileSync(join(run, name), "base64")]),
  );

test("stopped again and again, each time later than before, it ends as if left alone", async () => {
  const [calm, rough] = [join(home, "calm"), join(home, "rough")];
  expect(await trainUntil(calm, Number.POSITIVE_INFINITY)).toMatchObject({ done: true });
  let attempts = 0;
  let ended = { done: false, log: "" };
  while (!ended.done) ended = await trainUntil(rough, ++attempts);
  expect(attempts).toBeGreaterThan(5);
  // Stopped more than once after the same step: during its evaluation, whose update is not repeated.
  const stops = [...ended.log.matchAll(/stopped after step (\d+); resume with/g)].map(([, step]) => Number(step));
  const resumed = [...ended.log.matchAll(/resumed after step (\d+)/g)].map(([, step]) => Number(step));
  expect(resumed).toEqual(stops);
  expect(new Set(stops).size).toBeLessThan(stops.length);
  expect(determined(rough)).toEqual(determined(calm));
});

test("with another optimizer, a schedule, clipping, a rate for the head and patience too", async () => {
  const more = {
    ...{ optimizer: "sgd", momentum: 0.9, schedule: "cosine", warmupSteps: 2, clipNorm: 0.5, headLr: 3, patience: 2 },
    ...{ lr: 0.01, algorithm: "vrex", "vrex.annealSteps": 3 },
  };
  const [calm, rough] = [join(home, "calm sgd"), join(home, "rough sgd")];
  expect(await trainUntil(calm, Number.POSITIVE_INFINITY, more)).toMatchObject({ done: true });
  for (let attempts = 1; !(await trainUntil(rough, attempts, more)).done; attempts += 2);
  expect(determined(rough)).toEqual(determined(calm));
});

test("with frozen blocks and rates by depth", async () => {
  const more = {
    ...{ backbone: "toy-cnn", freeze: "all-but-2", layerDecay: 0.7, steps: 3, evaluateEvery: 3 },
    ...{ averaging: "moving-average", "swad.converge": null, "data.perCell": 2, batchSize: 2 },
  };
  const [calm, rough] = [join(home, "calm frozen"), join(home, "rough frozen")];
  const { done, log } = await trainUntil(calm, Number.POSITIVE_INFINITY, more);
  expect(done).toBe(true);
  expect(log).toContain("trains 725 parameters (74 % of 985); weights, gradients and optimizer need 12.6 kB of memory");
  for (let attempts = 1; !(await trainUntil(rough, attempts, more)).done; attempts += 3);
  expect(determined(rough)).toEqual(determined(calm));
});

test("with the head first, a coefficient that validation chooses, and T3A", async () => {
  const more = {
    ...{ averaging: "wise-ft", "wise-ft.coefficient": "auto", "wise-ft.start": 3, headFirst: 2, t3a: 2, lr: 0.01 },
    ...{ "moving-average.start": null, "swad.converge": null },
  };
  const [calm, rough] = [join(home, "calm head"), join(home, "rough head")];
  const { log } = await trainUntil(calm, Number.POSITIVE_INFINITY, more);
  for (let attempts = 1; !(await trainUntil(rough, attempts, more)).done; attempts += 3);
  expect(determined(rough)).toEqual(determined(calm));
  const rows = readFileSync(join(calm, "records.jsonl"), "utf8").trim().split("\n");
  const records = rows.map((row) => JSON.parse(row));
  expect(new Set(records.map(({ model }) => model))).toEqual(new Set(["current", "wise-ft", "t3a", "t3a+wise-ft"]));
  const [, text] = /wise-ft: [\d.]+ is the best on validation pictures, in percent \((.*)\)/.exec(log)!;
  const scores = text.split(", ").map((each) => each.split(": ").map(Number));
  expect(scores.map(([coefficient]) => coefficient)).toEqual([0, 0.25, 0.5, 0.75, 1]);
  const best = Math.max(...scores.map(([, score]) => score));
  const { value } = records.find(({ metric }) => metric === "coefficient")!;
  expect(scores.find(([coefficient]) => coefficient === value)![1]).toBe(best);
  expect(scores.find(([, score]) => score === best)![0]).toBe(value); // the one closest to the initial weights among equal ones
});

test("with a schedule that follows validation, and a second training on all pictures", async () => {
  const more = {
    ...{
      algorithm: "erm-plus-plus",
      headSteps: 1,
      averageFrom: 4,
      steps: 40,
      evaluateEvery: 2,
      retrain: true,
      lr: 1e-5,
    },
    ...{ schedule: "plateau", "plateau.from": 2, "plateau.patience": 0, averaging: [] },
    ...{ "moving-average.start": null, "swad.converge": null },
  };
  const [calm, rough] = [join(home, "calm again"), join(home, "rough again")];
  const { done, log } = await trainUntil(calm, Number.POSITIVE_INFINITY, more);
  expect(done).toBe(true);
  for (let attempts = 1; !(await trainUntil(rough, attempts, more)).done; attempts += 5);
  expect(determined(rough)).toEqual(determined(calm));
  const [, end] = /schedule plateau ends the run after step (\d+)/.exec(log)!;
  const [, again] = /training again on all pictures of the training domains, for (\d+) steps/.exec(log)!;
  expect(Number(again)).toBe(Number(end) - 1); // up to the evaluation before the last one
  const last = Number(again) - 1;
  const recordsIn = (folder: string): RunRecord[] =>
    readFileSync(join(folder, "records.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((row) => JSON.parse(row));
  const [first, second] = [calm, join(calm, "retrained")].map(recordsIn);
  const valueIn = (records: RunRecord[], model: string, domain: string, split: string): number =>
    records.find(
      (row) =>
        row.step === last &&
        row.model === model &&
        row.domain === domain &&
        row.split === split &&
        row.metric === "accuracy",
    )!.value;
  for (const [domain, split, source] of [
    ["filled", "out", first],
    ["textured", "in", second],
    ["textured", "out", second],
  ] as const)
    expect(valueIn(first, "retrained", domain, split), `${domain} ${split}`).toBe(
      valueIn(source, "current", domain, split),
    );
  expect(readTrainSettings(join(calm, "retrained"))).toMatchObject({ trainOnAll: true, steps: Number(again) });
  const bytes = (path: string): string => readFileSync(join(path, "model.safetensors"), "base64");
  expect(bytes(calm)).toBe(bytes(join(calm, "retrained")));
});

test("T3A is refused where predictions are more than one linear layer on the features", async () => {
  const more = { averaging: [], "moving-average.start": null, "swad.converge": null, t3a: 5, algorithm: "arm" };
  await expect(trainUntil(join(home, "arm"), Number.POSITIVE_INFINITY, more)).rejects.toThrow(
    "t3a: T3A adapts a linear classifier on the features, but ARM predicts in another way",
  );
});

test("a run stops when its patience is over, and its model is the best one", async () => {
  const more = { steps: 200, evaluateEvery: 2, averaging: "moving-average", "swad.converge": null, lr: 0, patience: 2 };
  const path = join(home, "patient");
  const { done, log } = await trainUntil(path, Number.POSITIVE_INFINITY, more);
  expect(done).toBe(true);
  const [, since] = /stopped early: no better validation accuracy in 2 evaluations since step (\d+)/.exec(log)!;
  const last = Number(since) + 4;
  expect(JSON.parse(readFileSync(join(path, "done"), "utf8"))).toMatchObject({
    step: last,
    best: { step: Number(since) },
  });
  const rows = readFileSync(join(path, "records.jsonl"), "utf8").trim().split("\n");
  const averaged = rows.map((row) => JSON.parse(row)).filter(({ model }) => model === "moving-average");
  expect(averaged.some(({ step }) => step === last)).toBe(true);
});
