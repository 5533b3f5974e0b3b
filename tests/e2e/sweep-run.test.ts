/** `nudge sweep run`, `status`, `retry`, `cancel` and `clean` on runs of seconds, as a person uses them. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { RESUMABLE } from "../../src/cli/failure.js";
import { main } from "../../src/cli/main.js";
import { StatusReader } from "../../src/run-index/status.js";
import { type PlannedRun, readPlan, sweepPaths } from "../../src/sweep/sweep-folder.js";
import { writePictures } from "../support/picture-folder.js";
import { catchPrinted } from "../support/printed.js";
import { until } from "../support/slurm-cluster.js";
import { startNudge } from "../support/start-nudge.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-sweep-run-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const printed = catchPrinted();

const tiny = "--data shapes --algorithms ERM --batch-size 4 data.perCell=4 data.size=16".split(" ");

async function plan(name: string, words: string): Promise<{ sweep: string; runs: PlannedRun[] }> {
  const sweep = join(folder, name);
  const planned = ["sweep", "plan", ...tiny, ...words.split(" "), "--no-measure", "--out", sweep];
  expect(await main(planned)).toBe(0);
  return { sweep, runs: readPlan(sweep) };
}

const run = (sweep: string, words = "") => startNudge(["sweep", "run", sweep, ...words.split(" ").filter(Boolean)]);
const isBegun = (sweep: string): boolean =>
  new StatusReader(sweep).read().running.some(({ progress }) => progress !== null);
const counts = (sweep: string) => new StatusReader(sweep).read().counts;

test("a failing run stops no other run, is retried as often as set, and can be listed, retried and cancelled", {
  timeout: 120_000,
}, async () => {
  // A learning rate that Adam cannot compute with.
  const { sweep, runs } = await plan(
    "failing",
    "--trials 1 --test-domains filled --steps 6 --eval-every 3 --grid lr=1e38,1e-3,1e-4",
  );
  const [bad] = runs.filter(({ request }) => request.lr === 1e38);
  const first = await run(sweep, "--jobs 1 --threads 1 --retries 1").ended;
  expect(first.code).toBe(1);
  expect(first.stderr).toMatch(/^failed, will be retried: .*lr=1e\+38.*\n(.*\n)*FAILED: .*lr=1e\+38/m);
  expect(first.stderr).toContain(`2 of 3 done, 1 failed or cancelled; see why: nudge sweep status ${sweep}`);
  expect(counts(sweep)).toMatchObject({ done: 2, failed: 1, waiting: 0 });

  expect(await main(["sweep", "status", sweep])).toBe(0);
  expect(printed.stdout).toMatch(/failed\n {2}[0-9a-f]{8} {2}.*lr=1e\+38.*\n {12}training stopped at step 0: /);
  printed.stdout = "";
  expect(await main(["sweep", "status", sweep, bad.id.slice(0, 6)])).toBe(0);
  expect(printed.stdout).toContain("attempts that ended with an error: 2");

  expect(await main(["sweep", "retry", sweep])).toBe(0);
  expect(printed.stdout).toContain(`1 run restored; resume with: nudge sweep run ${sweep}`);
  expect(counts(sweep)).toMatchObject({ done: 2, failed: 0, waiting: 1 });

  expect(await main(["sweep", "cancel", sweep, bad.id])).toBe(0);
  const idle = await run(sweep).ended;
  expect(counts(sweep)).toMatchObject({ done: 2, cancelled: 1 });
  expect(idle.code).toBe(1); // one is missing
  expect(await main(["sweep", "retry", sweep, bad.id])).toBe(0);
  expect(counts(sweep)).toMatchObject({ done: 2, waiting: 1 });
});

test("a run whose controller is killed writes a checkpoint and ends", { timeout: 60_000 }, async () => {
  const { sweep, runs } = await plan("orphan", "--trials 1 --test-domains filled --steps 100000 --eval-every 50000");
  const started = run(sweep, "--jobs 1 --threads 1");
  await until(() => isBegun(sweep), "no run was begun");
  started.process.kill("SIGKILL");
  await until(() => counts(sweep).running === 0, "the run did not end");
  const log = readFileSync(join(sweepPaths(sweep).run(runs[0].name), "log.txt"), "utf8");
  expect(log).toMatch(/stopped after step \d+; resume with/);
  expect(counts(sweep)).toMatchObject({ waiting: 1 });
});

test("a stopped sweep resumes; the same plan runs only what is missing; clean lists files before deleting them", {
  timeout: 120_000,
}, async () => {
  const { sweep, runs } = await plan(
    "stopped",
    "--trials 1 --test-domains filled,outlined --steps 150 --eval-every 75 keepCheckpoint=true",
  );
  const started = run(sweep, "--jobs 1 --threads 1");
  await until(() => isBegun(sweep), "no run was begun");
  started.process.kill("SIGINT");
  const { code, stderr } = await started.ended;
  expect(code).toBe(RESUMABLE);
  expect(stderr).toContain("SIGINT: the runs finish their step and write a checkpoint; press again to kill them");
  expect(stderr).toContain(`stopped: 0 of 2 done; resume with: nudge sweep run ${sweep}`);
  expect(counts(sweep)).toMatchObject({ done: 0, running: 0, waiting: 2 });

  const one = await run(sweep, `--only ${runs[0].id}`).ended;
  expect(one.code).toBe(0);
  expect(one.stderr).toMatch(/^resumed: /m);
  const log = readFileSync(join(sweepPaths(sweep).run(runs[0].name), "log.txt"), "utf8");
  expect(log).toMatch(/stopped after step (\d+)[\s\S]*resumed after step \1\n/);
  const before = readFileSync(join(sweepPaths(sweep).run(runs[0].name), "timing.jsonl"), "utf8");
  const rest = await run(sweep, "--jobs 2").ended;
  expect(rest.code).toBe(0);
  expect(readFileSync(join(sweepPaths(sweep).run(runs[0].name), "timing.jsonl"), "utf8")).toBe(before);
  expect(counts(sweep)).toMatchObject({ done: 2 });

  expect(await main(["sweep", "status", sweep, "--watch", "0.2", "--json"])).toBe(0); // nothing to wait for
  expect(JSON.parse(printed.stdout.trimEnd().split("\n").at(-1)!)).toMatchObject({ runs: 2, counts: { done: 2 } });

  const checkpoint = join(sweepPaths(sweep).run(runs[0].name), "checkpoint");
  expect(await main(["sweep", "clean", sweep])).toBe(0);
  expect(printed.stdout).toMatch(/checkpoints of runs that are done: 2, [\d.]+ MB/);
  expect(existsSync(checkpoint)).toBe(true);
  expect(await main(["sweep", "clean", sweep, "--yes"])).toBe(0);
  expect(existsSync(checkpoint)).toBe(false);
  expect(readdirSync(sweepPaths(sweep).run(runs[0].name))).toContain("model.safetensors");
  expect(counts(sweep)).toMatchObject({ done: 2 });
  expect(await main(["sweep", "clean", sweep, "--done", "--yes"])).toBe(0);
  expect(counts(sweep)).toMatchObject({ done: 0, waiting: 2 });
});

test("too many failures end the sweep, and a planned sweep can be run immediately", { timeout: 120_000 }, async () => {
  const { sweep } = await plan("doomed", "--trials 3 --test-domains filled --steps 3 lr=1e38");
  const doomed = await run(sweep, "--jobs 1 --max-failures 1").ended;
  expect(doomed.code).toBe(1);
  expect(doomed.stderr).toContain("too many runs failed, so no more were started: 0 of 3 done");
  expect(counts(sweep)).toMatchObject({ failed: 1, waiting: 2 });

  const out = join(folder, "at-once");
  const words = [...tiny, "--trials", "1", "--test-domains", "filled", "--steps", "3", "--out", out, "--jobs", "1"];
  const { code, stderr } = await startNudge(["sweep", "run", ...words]).ended;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stderr).toContain(`${out}: 1 runs planned, 1 of them new`);
  expect(stderr).toContain(`all 1 done; tables: nudge report ${out}`);
});

test("a usage error says what is expected", async () => {
  for (const [words, message] of [
    ["run", "missing the folder of a sweep; pass it, or plan one with"],
    ["run a b", "expected one folder of a sweep, got a, b"],
    [`run ${folder} steps=3`, "steps=3: settings belong to the plan"],
    [`run ${folder} --steps 3`, "--steps: this option belongs to the plan"],
    [`run ${folder} --no-pretrained`, "--no-pretrained: this option belongs to the plan"],
    [`run ${folder} --root data`, "this folder has no sweep"],
    [`run ${folder} -o nothing`, "-o nothing: expected name=value"],
    [`status ${join(folder, "none")}`, "there is no folder"],
    [`cancel ${join(folder, "none")}`, "there is no folder"],
  ] as const) {
    printed.stderr = "";
    expect(await main(["sweep", ...words.split(" ")]), words).toBe(2);
    expect(printed.stderr).toContain(message);
  }
});

test("--root says where the named datasets of a planned sweep are", async () => {
  const sweep = join(folder, "elsewhere");
  const words = "--data pacs --algorithms ERM --trials 1 --test-domains photo --backbone small-cnn --steps 3".split(
    " ",
  );
  const root = join(folder, "data");
  const domains = ["art_painting", "cartoon", "photo", "sketch"].map((name) => `PACS/${name}`);
  await writePictures(
    root,
    Object.fromEntries(
      domains.flatMap((name) => [
        [`${name}/dog`, 5],
        [`${name}/horse`, 5],
      ]),
    ),
  );
  const planned = ["sweep", "plan", ...words, "--batch-size", "2", "--root", root, "--no-measure", "--out", sweep];
  expect(await main(planned)).toBe(0);
  const [{ id, request }] = readPlan(sweep);
  expect(request.root).toBe(root);
  const other = join(folder, "other-place");
  renameSync(root, other);
  const { code, stderr } = await run(sweep, `--root ${other} --jobs 1`).ended;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(readPlan(sweep)[0]).toMatchObject({ id, request: { root: other } });
  expect(counts(sweep)).toMatchObject({ done: 1 });
});
