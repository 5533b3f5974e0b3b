/** Tests `nudge quickstart` with a few updates per run: its output and files, and that a second call resumes. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startNudge } from "../../tests/support/start-nudge.js";
import { RESUMABLE } from "./failure.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-quickstart-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options = ["quickstart", "--seeds", "1", "--steps", "2", "--out", folder];
let interrupted: Awaited<ReturnType<typeof startNudge>["ended"]>;
let first: typeof interrupted;

beforeAll(async () => {
  const begun = startNudge(options);
  await begun.said("run 3/8: ERM, outlined held out, seed 0: done");
  begun.process.kill("SIGINT");
  interrupted = await begun.ended;
  first = await startNudge(options).ended;
}, 60_000);

test("a signal stops it after a step, and prints how to resume", () => {
  expect(interrupted.code).toBe(RESUMABLE);
  expect(interrupted.stderr).toMatch(
    /SIGINT: finishing the step.*\nstopped in run \d+ of 8; run nudge quickstart with the same options to resume\n$/,
  );
  expect(interrupted.stdout).toBe("");
});

test("a second call uses the finished runs, and prints the table, the paired difference and three commands", () => {
  expect(first.code).toBe(0);
  expect(first.stderr).toContain("run 1/8: ERM, filled held out, seed 0: already done\n");
  expect(first.stderr).toContain("run 8/8: ERM-NU, inverted held out, seed 0: done\n");
  expect(first.stdout).toMatch(/\| Algorithm +\| +filled +\| +outlined +\| +textured +\| +inverted +\| +Average \|/);
  for (const method of ["ERM", "ERM-NU"])
    expect(first.stdout).toMatch(new RegExp(`\\| ${method} +(\\| +[*_]*\\d+\\.\\d[*_]* ){5}\\|`)); // one trial has no standard error
  expect(first.stdout).toMatch(/\| Shapes, 4 of 4 domains \| +[+-]?\d+\.\d \| – \(needs two trials\) \| +1 \|/);
  const [, next] = first.stdout.split("\nNext:\n");
  expect(next.match(/^ {2}npx nudge /gm)).toHaveLength(3);
  expect(next).toContain(`npx nudge quickstart --seeds 6 --steps 2 --out ${folder}\n`);
});

test("the folder holds ordinary runs and the page", () => {
  expect(readdirSync(folder).sort()).toEqual(["report.html", "runs"]);
  const runs = readdirSync(join(folder, "runs"));
  expect(runs).toHaveLength(8);
  for (const run of runs) expect(existsSync(join(folder, "runs", run, "done"))).toBe(true);
  expect(readFileSync(join(folder, "report.html"), "utf8")).toContain("ERM-NU against ERM, pair by pair");
});

test("finished runs do not change, and --json has the report and the folders", async () => {
  const models = (): number[] =>
    readdirSync(join(folder, "runs")).map((run) => statSync(join(folder, "runs", run, "model.safetensors")).mtimeMs);
  const before = models();
  const again = await startNudge([...options, "--json"]).ended;
  expect(again.code).toBe(0);
  expect(models()).toEqual(before);
  const { page, runs, report } = JSON.parse(again.stdout);
  expect(page).toBe(join(folder, "report.html"));
  expect(runs).toHaveLength(8);
  expect(report.comparisons[0]).toMatchObject({ first: "ERM-NU", second: "ERM" });
});

test("invalid numbers are refused before anything is created", async () => {
  const out = join(folder, "none");
  const wrong = await startNudge(["quickstart", "--seeds", "0", "--out", out]).ended;
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toBe('nudge: --seeds: expected an integer of at least 1, got "0"\n');
  expect(existsSync(out)).toBe(false);
});
