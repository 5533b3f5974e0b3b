import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { StatusReader } from "../run-index/status.js";
import { readAttempts } from "./attempts.js";
import { cancelAll, cancelRun, cancelToken } from "./cancel-marks.js";
import { growPlan } from "./grow-plan.js";
import { makePlan } from "./make-plan.js";
import { type PlannedRun, sweepPaths } from "./sweep-folder.js";
import { type WorkEvent, type WorkOptions, work } from "./work.js";

const tiny = { data: "shapes", testDomains: "filled", batchSize: 4, "data.perCell": 4, "data.size": 16 };

async function makeSweep(given: Record<string, unknown>): Promise<{ folder: string; runs: readonly PlannedRun[] }> {
  const folder = temporaryFolder();
  const made = await makePlan({ given: { ...tiny, algorithms: "ERM", trials: 1, ...given } });
  await growPlan(folder, made.words, made.runs);
  return { folder, runs: made.runs };
}

/** Executes a sweep in this process; returns why it ended, and the events. */
async function workOn(folder: string, options: Partial<WorkOptions> = {}) {
  const events: WorkEvent[] = [];
  const why = await work({
    folder,
    device: "cpu",
    threads: 1,
    retries: 0,
    maxFailures: null,
    only: null,
    stopHopeless: false,
    runs: null,
    first: 0,
    cancelToken: cancelToken(folder),
    shouldStop: () => false,
    onEvent: (event) => events.push(event),
    version: "test",
    ...options,
  });
  return { why, events };
}

const counts = (folder: string) => new StatusReader(folder).read().counts;

test("a draw that is behind all finished ones of its cell is given up, where that is asked for", async () => {
  const { folder, runs } = await makeSweep({ hparams: 4, steps: 9, evaluateEvery: 2 });
  expect((await workOn(folder, { runs: 3 })).why).toBe("enough");
  for (const { name } of runs.slice(0, 3)) {
    const path = join(sweepPaths(folder).run(name), "records.jsonl");
    const better = readFileSync(path, "utf8").replace(/("metric":"accuracy","value":)[\d.e-]+/g, "$11.5");
    writeFileSync(path, better);
  }
  const { why, events } = await workOn(folder, { stopHopeless: true });
  expect(why).toBe("nothing left");
  const [given] = events.filter((each) => each.event === "hopeless");
  expect(given).toMatchObject({
    id: runs[3].id,
    why: expect.stringMatching(/^stopped early after step 4: validation/),
  });
  expect(counts(folder)).toMatchObject({ done: 3, hopeless: 1 });
  expect((await workOn(folder)).events).toEqual([{ event: "end", why: "nothing left" }]);
});

test("a sweep that is cancelled stops at a checkpoint, a run that is taken out gives way to the next", async () => {
  const { folder, runs } = await makeSweep({ trials: 3, steps: 100_000, evaluateEvery: 50_000 });
  const seen: string[] = [];
  const { why, events } = await workOn(folder, {
    onEvent: (event) => {
      if (event.event === "begun") seen.push(event.id);
      if (event.event === "begun") seen.length === 1 ? cancelRun(folder, event.id) : cancelAll(folder);
    },
  });
  expect(why).toBe("asked to stop");
  expect(events).toEqual([]);
  expect(seen).toEqual([runs[0].id, runs[1].id]);
  expect(counts(folder)).toMatchObject({ cancelled: 1, waiting: 2, running: 0 });
  expect(readAttempts(folder, runs[1].id).open).toBe(null);
});

test("a plan whose settings mean another run by now is refused, run by run", async () => {
  const { folder, runs } = await makeSweep({ steps: 3 });
  const path = sweepPaths(folder).plan;
  writeFileSync(path, readFileSync(path, "utf8").replace('"steps":3', '"steps":4'));
  const { why, events } = await workOn(folder);
  expect(why).toBe("after a failure");
  expect(events).toMatchObject([
    { event: "begun", id: runs[0].id },
    {
      event: "failed",
      again: false,
      error: expect.stringContaining(`has changed since the run was planned (${runs[0].id}, now `),
    },
    { event: "end" },
  ]);
});
