/** scripts/keep-results.mjs, on a sweep of which the records are in the repository. */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeReport } from "../../src/report/index.js";
import { readResults } from "../../src/report/read-results.js";

const root = join(import.meta.dirname, "../..");
const sweep = join(root, "results/pacs-probe");
const script = join(root, "scripts/keep-results.mjs");
const folder = mkdtempSync(join(tmpdir(), "nudge-keep-"));
afterAll(() => rmSync(folder, { recursive: true }));

const cellsOf = (of: string) => makeReport(readResults([of])).tables.map(({ rows }) => rows);

test("runs that are kept make the same tables, with all their records or those of accuracy alone", () => {
  const [whole, part] = ["whole", "part"].map((name) => join(folder, name));
  execFileSync(process.execPath, [script, sweep, whole]);
  execFileSync(process.execPath, [script, sweep, part, "--metrics", "accuracy"]);
  const names = readdirSync(join(part, "runs"));
  expect(names).toEqual(readdirSync(join(sweep, "runs")));
  const recordsIn = (of: string): string => readFileSync(join(of, "runs", names[0], "records.jsonl"), "utf8");
  expect(recordsIn(whole)).toBe(recordsIn(sweep));
  const metrics = recordsIn(part)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).metric);
  expect(new Set(metrics)).toEqual(new Set(["accuracy"]));
  expect(cellsOf(part)).toEqual(cellsOf(sweep));
  expect(JSON.parse(readFileSync(join(part, "sweep.json"), "utf8")).metricsKept).toEqual(["accuracy"]);
});

test.each([
  [[], "expected a sweep's folder"],
  [[sweep, "x", "--metric", "accuracy"], "Unknown option '--metric'"],
  [[sweep, join(folder, "none"), "--metrics", "acuracy"], "has no record of acuracy"],
])("what it cannot do is told: %#", (words, problem) => {
  const { status, stderr } = spawnSync(process.execPath, [script, ...words], { encoding: "utf8" });
  expect(status).toBe(2);
  expect(stderr).toContain(problem);
});
