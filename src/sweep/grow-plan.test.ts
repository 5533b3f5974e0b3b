import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { existingRuns, growPlan, growthOf } from "./grow-plan.js";
import { planRuns } from "./plan-runs.js";
import { readPlan, readSweepFile, sweepPaths } from "./sweep-folder.js";
import { type GivenPart, partsOf } from "./sweep-request.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nudge-grow-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const plan = (given: GivenPart) =>
  planRuns(
    partsOf(undefined, { data: ["shapes"], trials: [0], testDomains: ["filled"], settings: { steps: 5 }, ...given }),
  );
const words = { name: "small", protocol: ["Short."], request: { data: "shapes" } };

test("the same plan again changes no byte, and more of it comes after what is there", async () => {
  const first = await plan({ trials: [0, 1] });
  expect(await growPlan(folder, words, first)).toMatchObject({ runs: 2, shared: 0 });
  const files = [sweepPaths(folder).plan, sweepPaths(folder).sweep].map((path) => readFileSync(path, "utf8"));
  expect((await growPlan(folder, words, first)).added).toEqual([]);
  expect([sweepPaths(folder).plan, sweepPaths(folder).sweep].map((path) => readFileSync(path, "utf8"))).toEqual(files);
  const more = await growPlan(folder, { ...words, request: { data: "more" } }, await plan({ trials: [2, 1, 0] }));
  expect(more.added.map(({ request }) => request.trialSeed)).toEqual([2]);
  expect(readPlan(folder).map(({ request }) => request.trialSeed)).toEqual([0, 1, 2]);
  expect(readSweepFile(folder)).toMatchObject({
    runs: 3,
    requests: [{ data: "shapes" }, { data: "more" }],
    trials: { shapes: [0, 1, 2] },
  });
});

test("planned again with its files elsewhere, a run stays in its place and is made with the new ones", async () => {
  const settings = { steps: 5 };
  const [first, second] = await plan({ trials: [0, 1], settings: { ...settings, threads: 2, cache: "/old/cache" } });
  await growPlan(folder, words, [first, second]);
  const again = await plan({ trials: [0], settings: { ...settings, cache: "/new/cache" } });
  const growth = await growPlan(folder, words, again);
  expect(growth).toMatchObject({ runs: 2, added: [], shared: 0 });
  expect([...growth.moved.keys()]).toEqual([first.id]);
  // Settings that are not given again do not change.
  expect(readPlan(folder)).toEqual([
    { ...first, request: { ...first.request, threads: 2, cache: "/new/cache" } },
    second,
  ]);
  expect((await growPlan(folder, words, again)).moved.size).toBe(0);
});

test("a run whose trajectory another has with an average is not planned by itself", async () => {
  const [erm] = await plan({ algorithms: ["ERM"] });
  const [swad] = await plan({ algorithms: ["SWAD"] });
  const [both] = await plan({ algorithms: ["ERM", "SWAD"] });
  const [other] = await plan({ algorithms: ["ERM"], settings: { steps: 5, lr: 0.5 } });
  expect(growthOf([both], [erm, other])).toMatchObject({ runs: 2, added: [other], shared: 1 });
  // SWAD alone can end early, and then the records of ERM would end early too.
  expect(growthOf([swad], [erm])).toMatchObject({ runs: 2, added: [erm], shared: 0 });
});

test("finished and started runs are counted", async () => {
  const runs = await plan({ trials: [0, 1, 2] });
  const { run } = sweepPaths(folder);
  expect(existingRuns(folder, runs)).toEqual({ done: 0, begun: 0 });
  for (const { name } of runs.slice(0, 2)) mkdirSync(run(name), { recursive: true });
  writeFileSync(join(run(runs[0].name), "done"), "{}");
  expect(existingRuns(folder, runs)).toEqual({ done: 1, begun: 1 });
});

test("with changed samples or code, a run that began is kept and planned again; one that did not is replaced", async () => {
  const [first, second] = await plan({ trials: [0, 1] });
  await growPlan(folder, words, [first, second]);
  mkdirSync(sweepPaths(folder).run(first.name), { recursive: true });
  writeFileSync(join(sweepPaths(folder).run(first.name), "settings.json"), "{}");
  const again = [first, second].map((run) => ({ ...run, facts: "other" }));
  const growth = await growPlan(folder, words, again);
  expect([growth.runs, growth.added.length, [...growth.changed]]).toEqual([3, 1, [first.id]]);
  const lines = readPlan(folder);
  expect(lines.map(({ facts }) => facts)).toEqual([first.facts, "other", "other"]);
  expect(lines[2].id).not.toBe(first.id);
  expect(lines[2].name.slice(16)).toBe(first.name.slice(16));
  // The same again changes nothing, and neither does restoring what was there before.
  for (const runs of [again, [first]]) expect((await growPlan(folder, words, runs)).added).toEqual([]);
});
