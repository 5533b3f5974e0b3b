/** Memory over a thousand training steps: as much at the end as after the first few, and at last as much as before. */

import { expect, test } from "vitest";
import { runChild } from "../support/child.js";

interface Sample {
  step: number;
  live: number;
  used: number;
  rss: number;
}

interface Report {
  before: { live: number; used: number };
  after: { live: number; used: number };
  failures: number;
  samples: Sample[];
}

const STEPS = 1000;
const WARM_UP = 200; // allocator, thread pools and V8's compiled code have settled by then
const BYTES_SLACK = 1000; // malloc rounds a block up by more or less; the smallest tensor a step would be 800 times 64
const RSS_SLACK = 30e6; // bytes: V8 takes and gives back some ten million; one leaked activation a step would be 800 times 100 KB

/** Trains in a process of its own: this one's memory holds vitest as well. */
async function train(throwEvery: number): Promise<Report> {
  const { code, signal, stdout, stderr } = await runChild(new URL("train-small-net.ts", import.meta.url), {
    args: [String(STEPS), String(throwEvery)],
    flags: ["--expose-gc"],
    timeout: 120_000,
  });
  expect({ code, signal }, stderr).toEqual({ code: 0, signal: null });
  return JSON.parse(stdout) as Report;
}

function expectFlat({ samples, before, after }: Report): void {
  const settled = samples.filter(({ step }) => step >= WARM_UP);
  expect(settled.length).toBeGreaterThan(10);
  for (const { step, live, used } of settled) {
    expect(live, `step ${step}`).toBe(settled[0].live);
    expect(Math.abs(used - settled[0].used), `step ${step}`).toBeLessThan(BYTES_SLACK);
  }
  const growth = settled.at(-1)!.rss - settled[0].rss;
  expect(growth, `resident memory grew by ${growth} bytes`).toBeLessThan(RSS_SLACK);
  expect(after).toEqual(before);
}

test("tensors, bytes and resident memory stay constant over 1,000 training steps", async () => {
  const report = await train(0);
  expect(report.failures).toBe(0);
  expectFlat(report);
}, 130_000);

test("they also stay constant if every tenth step throws", async () => {
  const report = await train(10);
  expect(report.failures).toBe(STEPS / 10);
  expectFlat(report);
}, 130_000);
