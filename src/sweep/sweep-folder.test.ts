import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DataError, UsageError } from "../errors.js";
import {
  isSweepFolder,
  type PlannedRun,
  planLines,
  readPlan,
  readSweepFile,
  sweepPaths,
  uncountedPlan,
  writePlan,
} from "./sweep-folder.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "nudge-sweep-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const id = (i: number): string => i.toString(16).padStart(16, "0");
const run = (i: number): PlannedRun => ({
  id: id(i),
  name: `${id(i)}-shapes-photo-erm-trial0`,
  title: `shapes · photo held out · ERM · trial ${i} · Größe`,
  request: { data: "shapes", testDomains: ["photo"], algorithm: "erm", lr: 1e-3, trialSeed: i, weights: null },
});
const sweep = { name: "small", protocol: ["Two steps."], requests: [{ data: ["shapes"] }] };

test("a plan is read as it was written, and the same plan is the same bytes", () => {
  const runs = Array.from({ length: 5000 }, (_, i) => run(i));
  writePlan(folder, sweep, runs);
  expect(readPlan(folder)).toEqual(runs);
  expect(readSweepFile(folder)).toMatchObject({ format: 1, ...sweep, runs: 5000 });
  expect(readSweepFile(folder).trials?.shapes).toHaveLength(5000);
  const { plan } = sweepPaths(folder);
  const before = readFileSync(plan);
  const shuffledKeys = runs.map(({ request, ...rest }) => ({ request, ...rest }));
  writePlan(folder, sweep, shuffledKeys);
  expect(readFileSync(plan).equals(before)).toBe(true);
});

test("a plan of no runs is a plan", () => {
  writePlan(folder, sweep, []);
  expect(readPlan(folder)).toEqual([]);
});

test("a folder without a sweep is refused with what to do", () => {
  expect(isSweepFolder(folder)).toBe(false);
  expect(() => readPlan(folder)).toThrow(UsageError);
  expect(() => readPlan(`${folder}.nudge`)).toThrow("nudge unpack --help");
  expect(() => readPlan(folder)).toThrow("nudge sweep plan --help");
});

test("a plan that was cut short or torn is refused, and one that grew is not", () => {
  const { plan } = sweepPaths(folder);
  writePlan(folder, sweep, [run(0), run(1), run(2)]);
  const whole = readFileSync(plan, "utf8");
  const lines = whole.split("\n");
  truncateSync(plan, whole.length - 10);
  expect(() => readPlan(folder)).toThrow("the last line is incomplete");
  writeFileSync(plan, `${lines.slice(0, 2).join("\n")}\n`);
  expect(() => readPlan(folder)).toThrow("3 runs were planned, but the file contains only 2");
  expect(planLines(folder).next().value).toEqual(run(0));
  writeFileSync(plan, whole);
  appendFileSync(plan, `${JSON.stringify(run(3))}\n`);
  expect(readPlan(folder)).toHaveLength(4);
});

test("a plan whose sweep.json was never written can be planned on", () => {
  expect([...uncountedPlan(folder)]).toEqual([]);
  writePlan(folder, sweep, [run(0)]);
  rmSync(sweepPaths(folder).sweep);
  expect([...uncountedPlan(folder)]).toEqual([run(0)]);
});

test.each([
  ["not JSON", "{", "line 2: a planned run could not be read"],
  ["a list", "[]", "expected an object"],
  ["an id that is none", JSON.stringify({ ...run(0), id: "12" }), '"id" to be 16 hexadecimal digits'],
  ["a name that leads out", JSON.stringify({ ...run(0), name: `${id(0)}/../../x` }), '"name" to be its id and'],
  ["a name of another run", JSON.stringify({ ...run(0), name: run(1).name }), '"name" to be its id and'],
  ["a cost that is none", JSON.stringify({ ...run(0), cost: -1 }), '"cost" to be seconds, got -1'],
  ["settings within settings", JSON.stringify({ ...run(0), request: { a: { b: 1 } } }), '"request" to be settings'],
  ["a run twice", JSON.stringify(run(9)), "which an earlier line has"],
])("a line with %s is refused", (_what, line, message) => {
  writePlan(folder, sweep, [run(9)]);
  appendFileSync(sweepPaths(folder).plan, `${line}\n`);
  expect(() => readPlan(folder)).toThrow(DataError);
  expect(() => readPlan(folder)).toThrow(message);
});

test.each([
  ["torn", '{ "format": 1,', "could not be read"],
  [
    "of another format",
    '{ "format": 2 }',
    "the sweep in format 2, and this version of NUDGE reads formats up to 1. Update NUDGE",
  ],
  ["no object", "null", "not the sweep: expected an object, got null. Plan the sweep again"],
  ["without its parts", '{ "format": 1, "name": "x" }', '"protocol" is missing'],
])("a sweep.json that is %s is refused", (_what, text, message) => {
  writeFileSync(sweepPaths(folder).sweep, text);
  expect(() => readSweepFile(folder)).toThrow(DataError);
  expect(() => readSweepFile(folder)).toThrow(message);
});
