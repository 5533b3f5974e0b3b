import { mkdirSync, readFileSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeOwnRun } from "../../tests/support/own-runs.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { accuraciesAt, writeRun } from "../../tests/support/run-folders.js";
import { writeSweep } from "../../tests/support/sweeps.js";
import { FolderLock } from "../files/folder-lock.js";
import { packStudy } from "../pack/pack-study.js";
import { formatRecord } from "../records/record.js";
import { Outcome } from "../report/outcome.js";
import { readResults } from "../report/read-results.js";
import { StatusReader } from "../run-index/status.js";
import { trainingDomain } from "../selection/index.js";
import { failAttempt, giveUp } from "../sweep/attempts.js";
import { cancelRun, uncancelRun } from "../sweep/cancel-marks.js";
import { noCounts } from "../sweep/run-state.js";
import { writePlan } from "../sweep/sweep-folder.js";
import type { RunRow } from "./api.js";
import { type Changes, RunRows } from "./run-rows.js";

const realFolder = (): string => realpathSync(temporaryFolder());

/** One look, with what it told. */
async function look(index: RunRows): Promise<{ runs: RunRow[]; gone: string[]; sweeps: Changes["sweeps"] }> {
  const all: Changes = { runs: [], gone: [], sweeps: [] };
  await index.look(({ runs, gone, sweeps }) => {
    all.runs.push(...runs);
    all.gone.push(...gone);
    all.sweeps.push(...sweeps);
  });
  return { ...all, runs: all.runs.map((row) => JSON.parse(row) as RunRow) };
}

/** A folder looks as if nothing had happened in it for an hour, so that a change is not told by its youth. */
function age(...folders: string[]): void {
  const then = new Date(Date.now() - 3_600_000);
  for (const folder of folders) utimesSync(folder, then, then);
}

test("the files of a run determine whether it is done, running, stopped or failed", async () => {
  const root = realFolder();
  writeRun(join(root, "done"));
  writeRun(join(root, "stopped"), { done: false });
  const running = writeRun(join(root, "deep", "er", "running"), { done: false });
  const failed = writeRun(join(root, "failed"), { done: false });
  mkdirSync(join(failed, "failure"));
  writeFileSync(join(failed, "failure", "failure.json"), '{ "step": 7, "message": "loss is NaN" }');
  mkdirSync(join(root, "broken"));
  writeFileSync(join(root, "broken", "settings.json"), "{");
  using lock = await FolderLock.take(join(running, "lock"));
  lock.note('{ "step": 120, "steps": 300, "left": 42 }');
  const { runs } = await look(new RunRows(root));
  const rows = new Map(runs.map((row) => [row.id, row]));
  expect([...rows].map(([id, { state }]) => [id, state]).sort()).toEqual([
    ["broken", "failed"],
    ["deep/er/running", "running"],
    ["done", "done"],
    ["failed", "failed"],
    ["stopped", "stopped"],
  ]);
  expect(rows.get("failed")!.problem).toBe("step 7: loss is NaN");
  expect(rows.get("broken")!.problem).toContain("settings.json");
  expect(rows.get("deep/er/running")!.reported).toMatchObject({ step: 120, left: 42 });
  expect(rows.get("done")).toMatchObject({
    method: "ERM",
    dataset: "pacs",
    heldOut: ["sketch"],
    step: 0,
    reported: null,
  });
  // Accuracies of domain i are 0.5 + i/100, on out half of that; sketch is the fourth.
  expect(rows.get("done")!.test).toBeCloseTo(0.53, 12);
  expect(rows.get("done")!.validation).toBeCloseTo(0.255, 12);
});

test("somebody's own pictures go by the name of their folder", async () => {
  const root = realFolder();
  writeRun(join(root, "own"), { settings: { dataset: "image-folder", data: "pictures/clinics/" } as object });
  expect((await look(new RunRows(root))).runs).toMatchObject([{ dataset: "clinics", own: true, assessed: false }]);
});

test("a finished run on own pictures has the accuracies of its own report, and not those of its last evaluation", async () => {
  const root = realFolder();
  writeOwnRun(root, "held", { right: 12, heldOut: "day" }); // of 20; of the 16 that are evaluated while training, 8
  writeOwnRun(root, "open", { right: 12, heldOut: "day", assessed: false });
  const { runs } = await look(new RunRows(root));
  const rows = new Map(runs.map((row) => [row.id, row]));
  expect(rows.get("held")).toMatchObject({ assessed: true, test: 0.6, validation: 0.75 });
  expect(rows.get("open")).toMatchObject({ assessed: false, test: 0.5, validation: 0.75 });
});

test("a model for use has the estimate of runs that held one domain out each, also one that is written later", async () => {
  const root = realFolder();
  const run = writeOwnRun(root, "use", { right: 0 });
  const index = new RunRows(root);
  expect((await look(index)).runs).toMatchObject([{ test: null, expected: null, validation: 0.75 }]);
  const estimate = JSON.parse(readFileSync(join(run, "assessment.json"), "utf8"));
  const domains = [0.9, 0.6, 0.75].map((accuracy, i) => ({ ...estimate.domains[i], part: "held out", accuracy }));
  writeFileSync(join(run, "estimate.json"), JSON.stringify({ ...estimate, domains }));
  const version = index.version;
  expect((await look(index)).runs).toMatchObject([{ expected: { mean: 0.75, lowest: 0.6, domain: "dusk" } }]);
  expect(index.version).toBeGreaterThan(version); // tables show it too
});

test("a probe has another name than a run that trained the whole network", async () => {
  const root = realFolder();
  writeRun(join(root, "full"));
  writeRun(join(root, "probe"), { settings: { probe: true } as object });
  const { runs } = await look(new RunRows(root));
  expect(runs.map(({ method }) => method).sort()).toEqual(["ERM", "ERM, probe"]);
});

test("a second look reports only changes and removed runs", async () => {
  const root = realFolder();
  const one = writeRun(join(root, "one"), { done: false });
  const two = writeRun(join(root, "two"), { done: false });
  const index = new RunRows(root);
  await look(index);
  const { version } = index;
  age(one, two);
  await look(index); // sees the aged times
  expect(await look(index)).toEqual({ runs: [], gone: [], sweeps: [] });
  expect(index.version).toBe(version);
  using lock = await FolderLock.take(join(one, "lock"));
  expect((await look(index)).runs).toMatchObject([{ id: "one", state: "running", step: 0 }]);
  expect(index.version).toBe(version); // no number changed
  writeFileSync(join(one, "records.jsonl"), accuraciesAt(300, 0.75).map(formatRecord).join(""), { flag: "a" });
  expect((await look(index)).runs).toMatchObject([{ id: "one", step: 300 }]);
  expect(index.version).toBeGreaterThan(version);
  // Resumed: cut back, which replaces the file.
  const first = readFileSync(join(one, "records.jsonl"), "utf8").split("\n").slice(0, 8).join("\n");
  rmSync(join(one, "records.jsonl"));
  writeFileSync(join(one, "records.jsonl"), `${first}\n`);
  expect((await look(index)).runs).toMatchObject([{ id: "one", step: 0 }]);
  lock[Symbol.dispose]();
  expect((await look(index)).runs).toMatchObject([{ id: "one", state: "stopped" }]);
  writeFileSync(join(one, "done"), "{}");
  expect((await look(index)).runs).toMatchObject([{ id: "one", state: "done" }]);
  rmSync(two, { recursive: true });
  expect(await look(index)).toMatchObject({ runs: [], gone: ["two"] });
});

test("a finished run that was removed and started again between two looks is read again", async () => {
  const root = realFolder();
  const run = writeRun(join(root, "one"), { records: accuraciesAt(900, 0.9) });
  const index = new RunRows(root);
  expect((await look(index)).runs).toMatchObject([{ state: "done", step: 900 }]);
  age(root);
  rmSync(run, { recursive: true });
  writeRun(run, { done: false, settings: { testDomains: ["photo"] } });
  expect((await look(index)).runs).toMatchObject([{ state: "stopped", step: 0, heldOut: ["photo"] }]);
});

test("links are followed inside the folder, once, and never out of it", async () => {
  const [root, outside] = [realFolder(), realFolder()];
  writeRun(join(root, "runs", "own"));
  writeRun(join(outside, "foreign"));
  symlinkSync(join(outside, "foreign"), join(root, "foreign"));
  symlinkSync(outside, join(root, "outside"));
  symlinkSync(join(root, "runs"), join(root, "again"));
  symlinkSync(root, join(root, "runs", "loop"));
  // A run of ours whose files are another's: its settings are not read.
  mkdirSync(join(root, "hollow"));
  symlinkSync(join(outside, "foreign", "settings.json"), join(root, "hollow", "settings.json"));
  const { runs } = await look(new RunRows(root));
  expect(runs.map(({ id, state }) => [id, state]).sort()).toEqual([
    ["hollow", "failed"],
    ["runs/own", "done"],
  ]);
});

test("a sweep's planned runs wait, run and fail, and its grid counts them", async () => {
  const root = realFolder();
  const sweep = join(root, "sweep");
  const planned = [0, 1, 2].map((trial) => {
    const id = `000000000000000${trial}`;
    const fixed = trial === 2 ? ["steps", "lr"] : ["steps"];
    const lists = { testDomains: ["sketch"], fixed };
    const request = { data: "pacs", ...lists, algorithm: "erm", trialSeed: trial, steps: 300, lr: 0.1 };
    return { id, name: `${id}-run`, title: `pacs · sketch held out · ERM · trial ${trial}`, request };
  });
  writePlan(sweep, { name: "three", protocol: ["As usual."], requests: [] }, planned);
  writeRun(join(sweep, "runs", planned[0].name));
  failAttempt(sweep, planned[1].id, new Error("no memory"), 0);
  const index = new RunRows(root);
  const { runs, sweeps } = await look(index);
  expect(runs.map(({ id, state, problem, fixed }) => [id, state, problem, fixed])).toEqual([
    [`sweep/runs/${planned[0].name}`, "done", null, {}],
    [`sweep/runs/${planned[1].name}`, "failed", "no memory", { steps: 300 }],
    [`sweep/runs/${planned[2].name}`, "waiting", null, { steps: 300, lr: 0.1 }],
  ]);
  expect(sweeps).toEqual([
    {
      ...{ id: "sweep", name: "three", runs: 3, problem: null },
      counts: { ...noCounts(), waiting: 1, failed: 1, done: 1 },
    },
  ]);
  const grid = index.grid("sweep")!;
  expect(grid.columns).toEqual([{ dataset: "PACS", heldOut: "sketch" }]);
  expect(
    grid.rows.map(({ method, fixed, cells }) => [method, fixed, cells[0]?.runs.map(([, state]) => state)]),
  ).toEqual([
    ["ERM", {}, ["done", "failed"]],
    ["ERM", { lr: 0.1 }, ["waiting"]], // steps=300 they all have
  ]);
  cancelRun(sweep, planned[2].id);
  expect((await look(index)).runs).toMatchObject([{ state: "cancelled", problem: "cancelled" }]);
  uncancelRun(sweep, planned[2].id);
  expect((await look(index)).runs).toMatchObject([{ state: "waiting", problem: null }]);
  writeRun(join(sweep, "runs", planned[2].name));
  const after = await look(index);
  expect(after.runs).toMatchObject([{ id: `sweep/runs/${planned[2].name}`, state: "done" }]);
  expect(after.sweeps[0].counts).toMatchObject({ done: 2, waiting: 0 });
});

test("a row of a sweep's grid names every method that its runs give", async () => {
  const root = realFolder();
  const planned = [[], ["swad"], ["swad", "moving-average"]].map((averaging, i) => {
    const id = `000000000000000${i}`;
    const request = {
      data: "pacs",
      testDomains: ["sketch"],
      algorithm: "erm",
      regularizers: ["nuclear-norm"],
      averaging,
    };
    return { id, name: `${id}-run`, title: "pacs · sketch held out", request };
  });
  writePlan(join(root, "sweep"), { name: "three", protocol: [], requests: [] }, planned);
  const index = new RunRows(root);
  const { runs } = await look(index);
  expect(index.grid("sweep")!.rows.map(({ method }) => method)).toEqual([
    "ERM-NU",
    "ERM-NU and SWAD-NU",
    "ERM-NU, SWAD-NU and MA-NU",
  ]);
  expect(runs.map(({ method }) => method)).toEqual(["ERM-NU", "SWAD-NU", "SWAD-NU"]);
});

test("a plan that cannot be read is reported, and does not hide any run", async () => {
  const root = realFolder();
  writeFileSync(join(root, "sweep.json"), "{}");
  writeFileSync(join(root, "plan.jsonl"), "");
  writeRun(join(root, "runs", "one"));
  const { runs, sweeps } = await look(new RunRows(root));
  expect(runs).toHaveLength(1);
  expect(sweeps[0].problem).toContain('"format" is missing');
});

test("the runs and the plan of a pack are those of its folder, and a pack that is replaced is read again", async () => {
  const [root, packs] = [realFolder(), realFolder()];
  const sweep = join(root, "study");
  const planned = writeSweep(sweep, 4);
  for (const [i, { name }] of planned.slice(0, 3).entries())
    writeRun(join(sweep, "runs", name), { settings: { trialSeed: i }, done: i < 2 });
  failAttempt(sweep, planned[3].id, new Error("no memory"), 0);
  packStudy([sweep], join(packs, "study.nudge"));
  const [whole, packed] = [new RunRows(root), new RunRows(packs)];
  const [a, b] = [await look(whole), await look(packed)];
  const plain = (value: unknown): string =>
    JSON.stringify(value, (key, item) => (key === "at" ? null : item)).replaceAll("study.nudge", "study");
  expect(plain(b.runs)).toEqual(plain(a.runs));
  expect(plain(b.sweeps)).toEqual(plain(a.sweeps));
  expect(plain(packed.grid("study.nudge"))).toEqual(plain(whole.grid("study")));
  const tables = ({ runs }: { runs: unknown }): string => plain(runs);
  expect(tables(packed.run(`study.nudge/runs/${planned[0].name}`)!.result()!).replaceAll(packs, root)).toEqual(
    tables(whole.run(`study/runs/${planned[0].name}`)!.result()!),
  );
  expect(await look(packed)).toEqual({ runs: [], gone: [], sweeps: [] });
  writeFileSync(join(sweep, "runs", planned[2].name, "done"), "");
  packStudy([sweep], join(packs, "study.nudge"));
  const { runs } = await look(packed);
  expect(runs.find(({ id }) => id.includes(planned[2].name))?.state).toBe("done");
});

test("several places are one index, and a pack alone is one as well", async () => {
  const root = realFolder();
  writeRun(join(root, "a", "runs", "x"));
  writeRun(join(root, "b", "runs", "x"));
  packStudy([join(root, "b", "runs")], join(root, "b.nudge"));
  const ids = async (...paths: string[]): Promise<string[]> =>
    (await look(new RunRows(...paths))).runs.map(({ id }) => id);
  expect(await ids(join(root, "b.nudge"))).toEqual(["x"]);
  expect(await ids(join(root, "a", "runs"), join(root, "b.nudge"))).toEqual(["runs/x", "b.nudge/x"]);
  expect(await ids(join(root, "a", "runs"), join(root, "b", "runs"))).toEqual(["runs-1/x", "runs-2/x"]);
});

test("status, report and dashboard agree on what became of every run", async () => {
  const root = realFolder();
  const sweep = join(root, "sweep");
  const planned = Array.from({ length: 8 }, (_, trial) => {
    const id = `000000000000000${trial}`;
    const request = { data: "pacs", testDomains: ["sketch"], algorithm: "erm", trialSeed: trial };
    return { id, name: `${id}-run`, title: `pacs · sketch held out · ERM · trial ${trial}`, request };
  });
  writePlan(sweep, { name: "eight", protocol: [], requests: [] }, planned);
  const [done, stopped, failed, failedBegun, again, hopeless, cancelled] = planned;
  for (const { name } of [done, stopped, failedBegun, again, hopeless, cancelled]) writeRun(join(sweep, "runs", name));
  for (const { name } of [stopped, failedBegun, again, hopeless, cancelled]) rmSync(join(sweep, "runs", name, "done"));
  for (const { id } of [failed, failedBegun]) failAttempt(sweep, id, new Error("no memory"), 0);
  failAttempt(sweep, again.id, new Error("no memory"), 3); // is tried again
  mkdirSync(join(sweep, "runs", again.name, "failure"));
  writeFileSync(join(sweep, "runs", again.name, "failure", "failure.json"), '{ "step": 3, "message": "no memory" }');
  giveUp(sweep, hopeless.id, "far behind");
  cancelRun(sweep, cancelled.id);
  cancelRun(sweep, failed.id);
  const expected = { ...noCounts(), done: 1, stopped: 2, failed: 2, hopeless: 1, cancelled: 1, waiting: 1 };
  const { sweeps, runs } = await look(new RunRows(root));
  expect(sweeps[0].counts).toEqual(expected);
  expect(runs.find(({ id }) => id.endsWith(again.name))).toMatchObject({
    state: "stopped",
    problem: "step 3: no memory",
  });
  const { counts, begun } = new StatusReader(sweep).read();
  expect({ ...counts, stopped: begun, waiting: counts.waiting - begun }).toEqual(expected);
  expect(new Outcome(readResults([sweep]), trainingDomain).notes.join("\n")).toContain(
    "1 of 8 planned runs are done, 2 failed, 1 cancelled, 1 stopped early, 2 started and counted up to their last evaluation",
  );
});
