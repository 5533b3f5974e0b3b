/** A run that is told to stop wherever it asks, in updates, evaluations and at its end, and goes on, ends in the same bytes. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { resolve } from "../settings/resolve.js";
import { RunFolder } from "./run-folder.js";
import { train } from "./train.js";

const home = mkdtempSync(join(tmpdir(), "nudge-stop-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const REQUEST = {
  data: "shapes",
  ...{ "data.perCell": 3, "data.size": 16, testDomains: "textured", batchSize: 4, threads: 1, device: "cpu" },
  ...{ steps: 7, evaluateEvery: 3, averaging: "swad,moving-average", "moving-average.start": 2, "swad.converge": 2 },
};

/** Trains in a folder, told to stop at the n-th time it asks; whether it is done, and whether it was in an evaluation. */
async function trainUntil(path: string, n: number): Promise<{ done: boolean; log: string }> {
  const plan = await resolve(REQUEST);
  using folder = await RunFolder.own(path);
  folder.writeJson("settings.json", plan.settings);
  let asked = 0;
  const beforeDone = async ({ pause }: { pause(): Promise<void> }): Promise<void> => {
    for (let i = 0; i < 3; i++) await pause();
  };
  const { done } = await train({ plan, folder, shouldStop: () => ++asked >= n, beforeDone });
  return { done, log: readFileSync(folder.file("log.txt"), "utf8") };
}

const determined = (run: string): Map<string, string> =>
  new Map(
    (readdirSync(run, { recursive: true }) as string[])
      .filter((name) => statSync(join(run, name)).isFile())
      .filter((name) => !/^(lock|events)\/|^(environment\.json|log\.txt|timing\.jsonl)$/.test(name))
      .sort()
      .map((name) => [name, readFileSync(join(run, name), "base64")]),
  );

test("stopped again and again, each time later than before, it ends as if left alone", async () => {
  const [calm, rough] = [join(home, "calm"), join(home, "rough")];
  expect(await trainUntil(calm, Number.POSITIVE_INFINITY)).toMatchObject({ done: true });
  let attempts = 0;
  let ended = { done: false, log: "" };
  while (!ended.done) ended = await trainUntil(rough, ++attempts);
  expect(attempts).toBeGreaterThan(5);
  // More than once after the same step: in its evaluation, whose update is not made again.
  const stops = [...ended.log.matchAll(/stopped after step (\d+); go on with/g)].map(([, step]) => Number(step));
  const resumed = [...ended.log.matchAll(/resumed after step (\d+)/g)].map(([, step]) => Number(step));
  expect(resumed).toEqual(stops);
  expect(new Set(stops).size).toBeLessThan(stops.length);
  expect(determined(rough)).toEqual(determined(calm));
});
