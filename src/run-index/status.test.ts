import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { finishRun, writeSweep } from "../../tests/support/sweeps.js";
import { thisProcess } from "../files/process-identity.js";
import { failAttempt, giveUp } from "../sweep/attempts.js";
import { cancelRun } from "../sweep/cancel-marks.js";
import { sweepPaths } from "../sweep/sweep-folder.js";
import { RunFolder } from "../training/run-folder.js";
import { runDetails } from "./run-details.js";
import { StatusReader } from "./status.js";
import { statusText } from "./status-text.js";

test("every state is counted once, and what is worth a word has one", () => {
  const folder = temporaryFolder();
  const runs = writeSweep(folder, 10);
  for (const run of runs.slice(0, 3)) finishRun(folder, run);
  using owned = RunFolder.tryOwn(sweepPaths(folder).run(runs[3].name))!;
  owned.progress({ step: 10, steps: 30, left: 84 });
  failAttempt(folder, runs[4].id, new Error("loss is NaN"), 0);
  giveUp(folder, runs[5].id, "far behind");
  cancelRun(folder, runs[6].id);
  mkdirSync(sweepPaths(folder).run(runs[7].name)); // started and abandoned
  const status = new StatusReader(folder).read();
  expect(status.counts).toEqual({ done: 3, running: 1, waiting: 3, failed: 1, hopeless: 1, cancelled: 1 });
  expect(status.begun).toBe(1);
  expect(status.running).toMatchObject([
    { id: runs[3].id, progress: { step: 10, steps: 30, left: 84 }, maker: { pid: process.pid } },
  ]);
  expect(status.secondsLeft).toBe(84 + 3 * 10); // each finished run took 10 s
  const { host, pid } = thisProcess();
  expect(statusText(status)).toBe(`made-up: 10 runs in ${folder}
all with steps=30

  done           3  30 %
  running        1
  waiting        3  1 of them started
  failed         1
  stopped early  1
  cancelled      1

running
  run       step   left  process
  10000003  10/30  1:24  ${`${host}:${pid}`.padEnd("process".length)}  pacs · sketch held out · ERM · trial 1

failed
  10000004  pacs · photo held out · ERM · trial 2
            loss is NaN
            details: nudge sweep status ${folder} 10000004

about 1:54 left with 1 run in parallel

print the current tables with: nudge report ${folder}
`);
});

test("a run without progress for a long time is reported, with advice", () => {
  const folder = temporaryFolder();
  const [run] = writeSweep(folder, 1);
  using owned = RunFolder.tryOwn(sweepPaths(folder).run(run.name))!;
  owned.progress({ step: 10, steps: 30, left: 84 });
  const now = join(sweepPaths(folder).run(run.name), "lock", "now");
  const told = (secondsAgo: number): string => {
    const time = Date.now() / 1000 - secondsAgo;
    for (const note of readdirSync(now).filter((name) => name.startsWith("note-")))
      utimesSync(join(now, note), time, time);
    const reader = new StatusReader(folder);
    return statusText(reader.read()) + runDetails(folder, reader.one(run));
  };
  expect(told(240)).not.toContain("no step");
  expect(told(500)).toMatch(
    /trial 0 \(no step for 8:20\)\n {2}no step for a long time: .*resumes from its checkpoint\n/,
  );
  expect(told(500)).toContain(", 1:24 left, no step for 8:20\n");
});

test("a run whose process was killed waits, and one that finishes between two looks is done", () => {
  const folder = temporaryFolder();
  const [first, second] = writeSweep(folder, 2);
  const now = join(sweepPaths(folder).run(first.name), "lock", "now");
  mkdirSync(now, { recursive: true });
  writeFileSync(join(now, "owner.json"), JSON.stringify({ ...thisProcess(), pid: 2 ** 22 + 1, token: "a" }));
  const reader = new StatusReader(folder);
  expect(reader.read().counts).toMatchObject({ done: 0, running: 0, waiting: 2 });
  finishRun(folder, first);
  expect(reader.read().counts).toMatchObject({ done: 1, waiting: 1 });
  finishRun(folder, second);
  expect(statusText(reader.read())).toContain(`all done; print tables with: nudge report ${folder}`);
});

test("long lists are shortened unless all entries are requested", () => {
  const folder = temporaryFolder();
  for (const { id } of writeSweep(folder, 12)) failAttempt(folder, id, new Error("no"), 0);
  const status = new StatusReader(folder).read();
  expect(statusText(status)).toContain("  and 2 more (--all)");
  expect(statusText(status, { all: true })).not.toContain("more (--all)");
  expect(statusText(status)).toContain(`restore failed and cancelled runs with: nudge sweep retry ${folder}`);
});

test("everything known about a run is printed: its problem in full, and the end of its log", () => {
  const folder = temporaryFolder();
  const [run] = writeSweep(folder, 1);
  failAttempt(folder, run.id, new Error("loss is NaN"), 0);
  const path = sweepPaths(folder).run(run.name);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "log.txt"), Array.from({ length: 40 }, (_, i) => `line ${i}\n`).join(""));
  const text = runDetails(folder, new StatusReader(folder).one(run));
  expect(text).toContain("  failed\n");
  expect(text).toMatch(/last problem \(.*\):\n {2}Error: loss is NaN\n {6}at /);
  expect(text).toContain("  line 25\n");
  expect(text).not.toContain("line 24");
  expect(text).toContain(`retry with: nudge sweep retry ${folder} 10000000`);
});
