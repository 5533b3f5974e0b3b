import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { finishRun } from "../../tests/support/sweeps.js";
import { makeFolder } from "../files/make-folder.js";
import { cancelRun } from "./cancel-marks.js";
import { combinationsOf, groupsOf, readyCombinations } from "./combinations.js";
import { growPlan } from "./grow-plan.js";
import { makePlan } from "./make-plan.js";
import { type PlannedRun, sweepPaths } from "./sweep-folder.js";

const tiny = { data: "shapes", testDomains: "filled,inverted", "data.size": 16, steps: 9, trials: 2 };

async function makeSweep(given: Record<string, unknown>): Promise<{ folder: string; runs: readonly PlannedRun[] }> {
  const folder = temporaryFolder();
  const made = await makePlan({ given: { ...tiny, algorithms: "ERM,ERM-NU", ...given } });
  await growPlan(folder, made.words, made.runs);
  return { folder, runs: made.runs };
}

test("runs are combined within a trial, over draws and seeds, and by nothing else", async () => {
  const { folder, runs } = await makeSweep({ hparams: 2, seeds: 3, combine: "ensemble" });
  expect(runs).toHaveLength(2 * 2 * 2 * 2 * 3);
  const groups = groupsOf(runs);
  expect(groups.map(({ length }) => length)).toEqual(new Array(8).fill(6));
  for (const group of groups)
    expect(
      new Set(group.map(({ request }) => `${request.testDomains} ${request.trialSeed} ${request.regularizers}`)).size,
    ).toBe(1);
  expect(new Set(groups[0].map(({ request }) => request.seed))).toEqual(new Set([0, 1000, 2000]));
  const all = combinationsOf(folder);
  expect(new Set(all.map(({ id }) => id)).size).toBe(8);
  expect(all.every(({ name }) => /-ensemble-trial[01]$/.test(name))).toBe(true);
});

test("all draws of a searched setting are combined, also the one with its default value", async () => {
  const search = { optimizer: "{adam, sgd}", headLr: "10^U(-1, 1)" }; // the middle of the range is the default of headLr
  const { runs } = await makeSweep({ algorithms: "ERM", trials: 1, hparams: 3, combine: "ensemble", ...search });
  expect(groupsOf(runs).map(({ length }) => length)).toEqual([3, 3]);
});

test("one is made when all its runs are settled, of those that are done", async () => {
  const { folder, runs } = await makeSweep({ algorithms: "ERM", trials: 1, hparams: 3, combine: "soup,ensemble" });
  expect(readyCombinations(folder)).toEqual([]);
  const [first, second, third] = groupsOf(runs)[0];
  for (const run of [first, second]) finishRun(folder, run);
  expect(readyCombinations(folder)).toEqual([]);
  cancelRun(folder, third.id);
  const ready = readyCombinations(folder);
  expect(ready.map(({ kind }) => kind)).toEqual(["soup", "ensemble"]);
  expect(ready[0].members.map(({ id }) => id).sort()).toEqual([first.id, second.id].sort());
  const made = sweepPaths(folder).run(ready[0].name);
  makeFolder(made);
  writeFileSync(join(made, "done"), "{}");
  expect(readyCombinations(folder).map(({ kind }) => kind)).toEqual(["ensemble"]);
});

test("what cannot be combined is refused when it is planned", async () => {
  await expect(makeSweep({ combine: "soup" })).rejects.toThrow("no trial has two runs of one method to combine");
  await expect(makeSweep({ seeds: 3, combine: "soup" })).rejects.toThrow("start from different random weights");
  await expect(makeSweep({ hparams: 2, combine: "stew" })).rejects.toThrow('unknown combine "stew"');
  const asked = { given: { ...tiny, seeds: 2 }, referenceJobs: true };
  await expect(makePlan(asked)).rejects.toThrow("DomainBed gives each of its jobs one seed");
});
