import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { UsageError } from "../errors.js";
import { evaluatedRuns, readRun } from "../records/index.js";
import { trainingDomain } from "../selection/index.js";
import { SettingsMemo } from "../settings/memo.js";
import { sizeOf } from "./clean.js";
import { type Estimate, estimateRuns } from "./estimate.js";
import { growPlan } from "./grow-plan.js";
import type { KeptModels } from "./kept-models.js";
import { makePlan } from "./make-plan.js";
import { work } from "./work.js";

const given = {
  ...{
    data: "shapes",
    algorithms: "ERM-NU,SWAD",
    testDomains: "filled",
    trials: 1,
    hparams: 2,
    steps: 21,
    evaluateEvery: 5,
  },
  ...{ "data.size": 16, "data.perCell": 5, batchSize: 4, threads: 1 },
};

/** Runs a sweep to its end. */
async function sweepWith(models: KeptModels): Promise<{ folder: string; estimate: Estimate }> {
  const folder = temporaryFolder();
  const { words, runs } = await makePlan({ given: given, models });
  const estimate = await estimateRuns(runs, { memo: new SettingsMemo(), device: "cpu", seconds: 60 });
  await growPlan(folder, words, runs);
  const rules = { retries: 0, maxFailures: null, only: null, stopHopeless: false };
  const place = { device: "cpu", threads: 1, runs: null, first: 0, cancelToken: "", version: "0" };
  const end = await work({ folder, ...rules, ...place, shouldStop: () => false, onEvent: () => {} });
  expect(end).toBe("nothing left");
  return { folder, estimate };
}

const runsIn = (folder: string): string[] =>
  readdirSync(join(folder, "runs")).map((name) => join(folder, "runs", name));
const hasModel = (run: string): boolean => existsSync(join(run, "model.safetensors"));

/** The share by which an estimate is off. */
const off = (estimated: number, folder: string): number => Math.abs(estimated / sizeOf(join(folder, "runs")) - 1);

test("finished runs have no checkpoint, and the estimate of disk is right within a fifth", async () => {
  const { folder, estimate } = await sweepWith("all");
  expect(runsIn(folder)).toHaveLength(4);
  for (const run of runsIn(folder)) expect([existsSync(join(run, "checkpoint")), hasModel(run)]).toEqual([false, true]);
  expect(off(estimate.disk.all, folder)).toBeLessThan(0.2);
});

test("with chosen models, the model stays that validation chooses among the draws of a trial", async () => {
  const { folder, estimate } = await sweepWith("chosen");
  const kept = runsIn(folder).filter(hasModel);
  expect(kept).toHaveLength(2);
  const runs = runsIn(folder).flatMap((run) => evaluatedRuns(readRun(run)).runs);
  const chosen = [
    runs.filter(({ method }) => method.model === "swad"),
    runs.filter(({ method }) => method.regularizers.length > 0),
  ].map((own) => trainingDomain.select(own, "filled")!.run.source);
  expect(kept.sort()).toEqual(chosen.sort());
  expect(off(estimate.disk.chosen, folder)).toBeLessThan(0.2);
});

test("without models, all records stay", async () => {
  const { folder, estimate } = await sweepWith("none");
  expect(runsIn(folder).map(hasModel)).toEqual([false, false, false, false]);
  for (const run of runsIn(folder)) expect(readRun(run).records.length).toBeGreaterThan(100);
  expect(off(estimate.disk.none, folder)).toBeLessThan(0.2);
});

test("soups need the models of all runs", async () => {
  const asked = makePlan({ given: { ...given, combine: "soup" }, models: "none" });
  await expect(asked).rejects.toThrow(UsageError);
  await expect(asked).rejects.toThrow("--models none: soup of runs need their models");
});
