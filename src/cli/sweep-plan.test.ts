import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { readPlan } from "../sweep/sweep-folder.js";
import { planCommand } from "./sweep-plan.js";
import { durationWords } from "./sweep-plan-words.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nudge-plan-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function plan(...args: string[]): Promise<string> {
  let printed = "";
  const command = planCommand((text) => {
    printed += text;
  });
  await command.exitOverride().parseAsync(args, { from: "user" });
  return printed;
}

const tiny = [
  "--data",
  "shapes",
  "--trials",
  "1",
  "--steps",
  "20",
  "--batch-size",
  "4",
  "data.size=12",
  "data.perCell=5",
  "threads=1", // two threads that wait for each other are slow on a busy machine
];

test("a plan is written to its folder, and prints how many runs there are, how many are done, and the next command", async () => {
  const out = join(folder, "sweep");
  const text = await plan(...tiny, "--algorithms", "ERM,SWAD,ERM-NU", "--no-measure", "--out", out);
  expect(text).toContain("sweep: 8 runs\n");
  expect(text).toContain("shapes: 8 runs: 2 methods (ERM and SWAD, ERM-NU), 4 sets of held-out domains, 1 trial\n");
  expect(text).toContain("already done: 0; started: 0; to do: 8\n");
  expect(text).toContain(`${out}: 8 runs added\n`);
  expect(text).toContain(`nudge sweep run ${out}\n`);
  expect(readPlan(out)).toHaveLength(8);
  expect(await plan(...tiny, "--algorithms", "ERM", "--no-measure", "--out", out)).toContain(
    "4 runs not planned separately: a run that averages the weights of the same training contains their records",
  );
  expect(readPlan(out)).toHaveLength(8);
});

test("--probe plans probes, and so needs pictures in files", async () => {
  await expect(plan(...tiny, "--probe", "--no-measure", "--dry-run")).rejects.toThrow(
    "probe: expected a dataset of picture files",
  );
});

test("a dry run writes nothing", async () => {
  const out = join(folder, "sweep");
  const text = await plan(...tiny, "--no-measure", "--dry-run", "--out", out);
  expect(text).toContain("nothing was written (--dry-run); 4 runs would be added to");
  expect(existsSync(out)).toBe(false);
});

test("a file gives lists and settings, and the command line has precedence", async () => {
  const file = join(folder, "sweep.yaml");
  const yaml = ["name: weights", "data: [shapes]", "algorithms: [ERM-NU]", "testDomains: [filled]", "trials: 2"];
  writeFileSync(file, [...yaml, "grid: { nuclear-norm.weight: [0.01, 0.03] }", "steps: 9", "lr: 0.5"].join("\n"));
  const json = await plan(
    "--config",
    file,
    "--trials",
    "1",
    "steps=7",
    "--no-measure",
    "--json",
    "--out",
    join(folder, "s"),
  );
  expect(JSON.parse(json)).toMatchObject({ asked: 2, added: 2, runs: 2, done: 0, begun: 0, shared: 0, estimate: null });
  const runs = readPlan(join(folder, "s"));
  expect(runs.map(({ request }) => [request["nuclear-norm.weight"], request.steps, request.lr])).toEqual([
    [0.01, 7, 0.5],
    [0.03, 7, 0.5],
  ]);
  const words = await plan("--config", file, "--no-measure", "--dry-run", "--out", join(folder, "s"));
  expect(words).toContain(
    "shapes: 4 runs: 1 method (ERM-NU), 1 set of held-out domains, 2 trials, 2 values of nuclear-norm.weight",
  );
});

test("an estimate comes from a trial that is really made, and is kept with each run", async () => {
  const out = join(folder, "sweep");
  const text = await plan(...tiny, "--measure-seconds", "1", "--device", "cpu", "--out", out);
  expect(text).toMatch(/estimate for the new runs, one at a time on this machine \(cpu, 1 thread\): .* per run\)/);
  expect(text).toMatch(
    /^ +disk: [\d.]+ [kM]B with all models \(.*none: [\d.]+ [kM]B\), and [\d.]+ [kM]B for each run in progress$/m,
  );
  expect(text).toContain("measured in a short trial of 1 of 1 kinds of runs");
  for (const { cost } of readPlan(out)) expect(cost).toBeGreaterThan(0);
  expect(await plan(...tiny, "--device", "cpu", "--out", out)).toContain("nothing new");
});

test("a sweep may be planned where its runs cannot be made", async () => {
  const told = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => told.mockRestore());
  expect(await plan(...tiny, "--device", "cuda:9", "--out", join(folder, "sweep"))).toContain("4 runs added");
  expect(told.mock.calls.join()).toContain("nudge: no estimate, because a trial failed: device cuda:9: there is none");
});

test("presets are listed with descriptions", async () => {
  const text = await plan("--list-presets");
  expect(text).toContain("table1   Table 1: 25 methods on five datasets");
  expect(text.match(/^(table\d|figure\d)/gm)).toHaveLength(12);
});

test("a plan without a request is an error, and the reference's jobs are printed on request", async () => {
  await expect(plan()).rejects.toThrow("nothing to plan: use --preset, --config or --data");
  await expect(plan("--data", "shapes", "--measure-seconds", "x")).rejects.toThrow(
    "--measure-seconds: expected a number",
  );
  const jobs = await plan(...tiny, "--reference-jobs", "--show-jobs", "--dry-run", "--no-measure");
  expect(jobs).toMatch(/^-{32} {2}[0-9a-f]{16}-shapes-filled-erm-trial0 {2}shapes · filled held out · ERM/m);
});

test.each([
  [4.26, "4.3 s"],
  [45.4, "45 s"],
  [1200, "20 min"],
  [12_345, "3 h 26 min"],
  [400_000, "4 d 15 h"],
])("%d seconds are %s", (seconds, words) => {
  expect(durationWords(seconds)).toBe(words);
});

test.each([
  [["--steps", "20", "steps=30"], "steps is given twice: --steps 20 and steps=30"],
  [["--eval-every", "20", "evaluateEvery=30"], "evaluateEvery is given twice: --eval-every 20 and evaluateEvery=30"],
  [["--grid", "lr=1,2", "lr=3"], "lr is given twice: lr=3 and --grid lr=1,2"],
  [["--grid", "lr=1,2", "--grid", "lr=3"], "--grid lr is given twice: 1,2 and 3"],
  [["lr=10^U(-4, -2)"], "a range is for a search, and this is none. Give a value, or search with several draws"],
])("sweep plan %j is refused", async (words, message) => {
  await expect(plan("--data", "shapes", "--dry-run", ...words)).rejects.toThrow(message);
});
