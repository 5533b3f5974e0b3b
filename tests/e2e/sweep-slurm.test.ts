/**
 * A sweep on a real Slurm: an array that works it off, a run whose time limit comes before its end and that goes on to the
 * same bytes, and a sweep that is taken back. The cluster is this machine's own, started and taken down here.
 */

import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { main } from "../../src/cli/main.js";
import { StatusReader } from "../../src/run-index/status.js";
import { cancelToken } from "../../src/sweep/cancel-marks.js";
import { combinationsOf } from "../../src/sweep/combinations.js";
import { submittedJobs } from "../../src/sweep/launchers/slurm.js";
import { readPlan } from "../../src/sweep/sweep-folder.js";
import { catchPrinted } from "../support/printed.js";
import { startSlurm, until } from "../support/slurm-cluster.js";
import { startNudge } from "../support/start-nudge.js";

const cluster = await startSlurm();
const folder = mkdtempSync(join(tmpdir(), "nudge-sweep-slurm-"));
afterAll(async () => {
  if (!("problem" in cluster)) await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);
if ("problem" in cluster) console.warn(`skipping tests with a cluster: ${cluster.problem}`);
else Object.assign(process.env, cluster.env);

const printed = catchPrinted();

const tiny =
  "--data shapes --algorithms ERM --test-domains filled --batch-size 4 --no-measure data.perCell=4 data.size=16";
const slurm = "--launcher slurm -o cpus_per_task=1 -o partition=test --threads 1";

/** Plans a sweep twice: one for the cluster, one to be left alone on this machine. */
async function plan(name: string, words: string): Promise<{ sweep: string; calm: string }> {
  const [sweep, calm] = [join(folder, name), join(folder, `${name}-calm`)];
  expect(await main(["sweep", "plan", ...`${tiny} ${words}`.split(" "), "--out", sweep])).toBe(0);
  cpSync(sweep, calm, { recursive: true });
  return { sweep, calm };
}

async function run(sweep: string, words: string): Promise<string> {
  const { code, stderr } = await startNudge(["sweep", "run", sweep, ...words.split(" ")]).ended;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stderr;
}

const counts = (sweep: string) => new StatusReader(sweep).read().counts;
const queued = (): string => ("problem" in cluster ? "" : cluster.command("squeue", "--noheader", "--array"));

function expectEqual(sweep: string, calm: string): void {
  for (const { name } of readPlan(sweep))
    for (const file of ["records.jsonl", "model.safetensors", "done"]) expectEqualFile(sweep, calm, name, file);
}

function expectEqualFile(sweep: string, calm: string, name: string, file: string): void {
  const [one, other] = [calm, sweep].map((each) => readFileSync(join(each, "runs", name, file)));
  expect(other.equals(one), `${file} of ${name}`).toBe(true);
}

/** What the tasks of a sweep's jobs wrote. */
function logs(sweep: string): string {
  const place = join(sweep, "launch", "slurm");
  const names = readdirSync(place).filter((name) => name.endsWith(".log"));
  return names.map((name) => `${name}:\n${readFileSync(join(place, name), "utf8")}`).join("\n");
}

const begun = (sweep: string): boolean =>
  new StatusReader(sweep).read().running.some(({ progress }) => (progress?.step ?? 0) > 0);

const withSlurm = test.skipIf("problem" in cluster);
const timeout = 240_000;

withSlurm("a sweep runs as an array job, to the bytes of one on this machine (needs Slurm)", { timeout }, async () => {
  const { sweep, calm } = await plan("array", "--trials 3 --steps 30 --eval-every 15");
  const submitted = await run(sweep, `${slurm} -o array_parallelism=2 -o runs_per_task=2 -o setup=true`);
  const [job] = submittedJobs(sweep);
  expect(submitted).toContain(`submitted as Slurm job ${job}: 2 tasks for 3 runs`);
  await run(calm, "--jobs 1 --threads 1");
  await until(() => counts(sweep).done === 3, `not all runs were done: ${logs(sweep)}`, 60);
  await until(() => queued() === "", "the tasks did not end");
  expectEqual(sweep, calm);
});

withSlurm(
  "runs train again, and the task that ends the last one of a group makes its soup and ensemble (needs Slurm)",
  { timeout },
  async () => {
    const words = "--trials 1 --hparams 3 --steps 20 --eval-every 10 --soup --ensemble retrain=true";
    const { sweep, calm } = await plan("combined", words);
    const combinations = combinationsOf(sweep);
    expect(combinations.map(({ kind }) => kind)).toEqual(["soup", "ensemble"]);
    await run(sweep, `${slurm} -o array_parallelism=2`);
    await run(calm, "--jobs 1 --threads 1");
    const made = (): boolean => combinations.every(({ name }) => existsSync(join(sweep, "runs", name, "done")));
    await until(made, `the soup and the ensemble were not made: ${logs(sweep)}`, 90);
    await until(() => queued() === "", "the tasks did not end");
    expectEqual(sweep, calm);
    for (const { name, kind } of combinations)
      for (const file of ["records.jsonl", "done", ...(kind === "soup" ? ["model.safetensors"] : [])])
        expectEqualFile(sweep, calm, name, file);
    // A task that was requeued while it made the soup finds no run to execute.
    const [soup] = combinations;
    rmSync(join(sweep, "runs", soup.name), { recursive: true });
    const task = await startNudge(["sweep", "slurm-task", sweep, "--launched-under", cancelToken(sweep)]).ended;
    expect(task).toMatchObject({ code: 0 });
    expectEqualFile(sweep, calm, soup.name, "model.safetensors");
  },
);

/** A run that its task has to leave before it is done, and goes on with when Slurm starts the task again. */
async function leaveAndGoOn(name: string, steps: number, options: string, leave: (job: string) => Promise<void>) {
  const { sweep, calm } = await plan(name, `--trials 1 --steps ${steps} --eval-every ${Math.ceil(steps / 5)}`);
  await run(sweep, `${slurm} ${options}`);
  await until(() => begun(sweep), `no run was begun: ${logs(sweep)}`, 60);
  await leave(submittedJobs(sweep)[0]);
  await run(calm, "--jobs 1 --threads 1");
  await until(() => counts(sweep).done === 1, `the run was not done: ${queued()} ${logs(sweep)}`, 180);
  expect(logs(sweep)).toContain("is requeued");
  const log = readFileSync(join(sweep, "runs", readPlan(sweep)[0].name, "log.txt"), "utf8");
  expect(log).toMatch(/stopped after step (\d+)[\s\S]*resumed after step \1\n/);
  expectEqual(sweep, calm);
}

withSlurm(
  "the signal before a time limit: checkpoint, requeue, and on to the same bytes (needs Slurm)",
  {
    timeout,
  },
  async () => {
    await leaveAndGoOn("signalled", 600, "-o timeout_min=5", async (job) => {
      if (!("problem" in cluster)) cluster.command("scancel", "--batch", "--signal=USR2", `${job}_0`);
    });
  },
);

// Slurm counts in minutes, so this one takes some: the signal comes 25 s before the first is over.
test.skipIf("problem" in cluster || !process.env.NUDGE_LONG)(
  "a sweep resumes after a real time limit (needs Slurm)",
  {
    timeout: 600_000,
  },
  async () => {
    await leaveAndGoOn("limited", 8_000, "-o timeout_min=1 -o signal_seconds=25", async () => {});
  },
);

withSlurm(
  "a sweep is taken back: its run stops after a checkpoint, its queue empties (needs Slurm)",
  {
    timeout,
  },
  async () => {
    const { sweep } = await plan("cancelled", "--trials 4 --steps 1000000 --eval-every 500000");
    await run(sweep, `${slurm} -o array_parallelism=1`);
    const runs = join(sweep, "runs");
    await until(() => begun(sweep), `no run was begun: ${logs(sweep)}`, 60);
    expect(await main(["sweep", "status", sweep])).toBe(0);
    expect(printed.stdout).toMatch(/Slurm job \d+: 1 running, 3 pending \(JobArrayTaskLimit\)/);
    expect(await main(["sweep", "cancel", sweep])).toBe(0);
    expect(printed.stdout).toMatch(/^Slurm job \d+: cancelled \(scancel\)$/m);
    await until(() => queued() === "", "the tasks did not end");
    expect(counts(sweep)).toMatchObject({ running: 0, waiting: 4, failed: 0 });
    expect(existsSync(join(runs, readdirSync(runs)[0], "checkpoint", "last.safetensors"))).toBe(true);
  },
);

withSlurm("the cluster is taken down, and nothing of it is left (needs Slurm)", { timeout }, async () => {
  if ("problem" in cluster) return;
  expect(cluster.processes().length).toBeGreaterThanOrEqual(3);
  await cluster.stop();
  await until(() => cluster.processes().length === 0, "some processes were left");
  expect(existsSync(cluster.env.SLURM_CONF)).toBe(false);
});
