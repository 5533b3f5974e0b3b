import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { finishRun, writeSweep } from "../../tests/support/sweeps.js";
import { cancelAll, cancelToken } from "./cancel-marks.js";
import { type ControlOptions, control } from "./controller.js";
import { readRunList } from "./run-list.js";
import type { WorkEvent } from "./work.js";

const worker = fileURLToPath(new URL("../../tests/support/fake-worker.mjs", import.meta.url));
const slot = { label: "here", threads: 1, env: {} };

afterEach(() => {
  delete process.env.FAKE_WORKER;
});

/** Controls a test sweep with fake processes. */
function start(count: number, how: string, more: Partial<ControlOptions> = {}) {
  process.env.FAKE_WORKER = how;
  const folder = temporaryFolder();
  const runs = writeSweep(folder, count);
  const events: WorkEvent[] = [];
  const said: string[] = [];
  const stop: { level: 0 | 1 | 2 } = { level: 0 };
  const launched = (): ReturnType<typeof control> =>
    control({
      folder,
      runs: readRunList(folder),
      slots: [slot, slot],
      rules: { retries: 0, maxFailures: null, only: null, stopHopeless: false },
      program: [process.execPath, worker],
      most: null,
      first: 0,
      stay: true,
      cancelToken: cancelToken(folder),
      stop,
      onEvent: (event) => events.push(event),
      say: (line) => said.push(line),
      ...more,
    });
  const done = (): string[] => events.flatMap((each) => (each.event === "done" ? [each.id] : [])).sort();
  return { folder, runs, events, said, stop, launched, done };
}

test("all runs are made, each once, and those that were done stay", async () => {
  const { folder, runs, launched, done } = start(7, "");
  finishRun(folder, runs[2]);
  expect(await launched()).toBe("settled");
  expect(done()).toEqual(runs.filter((run) => run !== runs[2]).map(({ id }) => id));
});

test("a process that dies is replaced and reported", async () => {
  const { runs, launched, done, said } = start(3, "crash");
  expect(await launched()).toBe("settled");
  expect(done()).toEqual(runs.map(({ id }) => id));
  for (const { id } of runs)
    expect(said).toContain(`the process of run ${id} was ended by SIGKILL; the run resumes from its last checkpoint`);
});

test("if processes cannot start, it ends with their messages", async () => {
  const { launched } = start(3, "no-start");
  await expect(launched()).rejects.toThrow(
    /no run can be started: \d processes in a row ended before they started one \(the last one ended with code 1\)\. Its output:\nnudge: the engine cannot be loaded/,
  );
});

test("a program that does not exist is reported", async () => {
  const { launched } = start(1, "", { program: ["/nowhere/nudge"] });
  await expect(launched()).rejects.toThrow(/nowhere\/nudge: could not be started: .*ENOENT/);
});

test("asked to stop, it has its processes stop in order", async () => {
  const { launched, stop, events } = start(4, "slow");
  setTimeout(() => {
    stop.level = 1;
  }, 700);
  expect(await launched()).toBe("stopped");
  expect(events.filter(({ event }) => event === "stopped")).toHaveLength(2);
  expect(events.filter(({ event }) => event === "done")).toEqual([]);
});

test("a sweep that is cancelled ends, and only as many runs are made as were asked for", async () => {
  const slow = start(4, "slow");
  setTimeout(() => cancelAll(slow.folder), 700);
  expect(await slow.launched()).toBe("cancelled");
  const few = start(5, "", { most: 2, slots: [slot] });
  expect(await few.launched()).toBe("enough");
  expect(few.done()).toHaveLength(2);
});

test("no second process is started while memory is short, which is reported once", async () => {
  const { launched, said, events, done } = start(4, "", { available: () => 1e8 });
  expect(await launched()).toBe("settled");
  expect(done()).toHaveLength(4);
  expect(events.filter(({ event }) => event === "end")).toHaveLength(1);
  expect(said).toEqual([
    expect.stringMatching(
      /^1 at a time for now: one more run could need \d\.\d GB of memory, but only 0\.1 GB are free$/,
    ),
  ]);
});
