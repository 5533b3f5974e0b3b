/**
 * Every operator with thousands of odd arguments: whatever comes from JavaScript, an operator returns or throws one of our
 * errors. It runs in a process of its own, so that a crash can be told from a failure, with the call that crashed.
 *
 * NUDGE_FUZZ=50 makes fifty times as many calls, each run with another seed; NUDGE_FUZZ_SEED sets the first seed.
 */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runChild } from "../support/child.js";

const CASES = 5000;
const TIMEOUT = 100_000; // a hang; the cases themselves take some ten seconds, on a busy machine thirty
const runs = Math.max(1, Number(process.env.NUDGE_FUZZ ?? 1));
const firstSeed = Number(process.env.NUDGE_FUZZ_SEED ?? 1);

const folder = mkdtempSync(join(tmpdir(), "nudge-fuzz-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A request for more memory than this is an EngineError, and a leak shows. */
const env = { NUDGE_MEMORY_GB: "0.5" };

interface Outcome {
  cases: number;
  returned: number;
  EngineError: number;
  unexpected: string[];
  slow: string[];
}

test.for(Array.from({ length: runs }, (_, i) => firstSeed + i))(
  "no argument crashes or hangs the process, and only our errors come out (seed %d)",
  { timeout: TIMEOUT + 10_000 },
  async (seed) => {
    const log = join(folder, `${seed}.log`);
    const { code, signal, timedOut, stdout, stderr } = await runChild(new URL("operator-fuzzer.ts", import.meta.url), {
      args: [log, String(seed), "0", String(CASES)],
      env,
      memoryLimit: 6e9,
      timeout: TIMEOUT,
    });
    // What it was about to do when it ended.
    const last = readFileSync(log, "utf8").trim();
    expect({ code, signal, timedOut, last, stderr: code === 0 ? "" : stderr }).toEqual({
      code: 0,
      signal: null,
      timedOut: false,
      last: "done",
      stderr: "",
    });
    const outcome = JSON.parse(stdout.trim().split("\n").at(-1)!) as Outcome;
    expect(outcome.unexpected).toEqual([]);
    expect(outcome.slow).toEqual([]);
    // The arguments are odd, not hopeless: a good share of the calls must get to the operator and through it.
    expect(outcome.cases).toBe(CASES);
    expect(outcome.returned).toBeGreaterThan(CASES / 4);
    expect(outcome.EngineError).toBeGreaterThan(CASES / 4);
  },
);

test("calls that crashed or hung in earlier versions are refused", async () => {
  const { code, signal, timedOut, stdout } = await runChild(new URL("once-crashed.ts", import.meta.url), {
    env,
    memoryLimit: 6e9,
    timeout: 20_000,
  });
  const lines = stdout.trim().split("\n");
  expect({ code, signal, timedOut, last: lines.at(-1) }).toEqual({
    code: 0,
    signal: null,
    timedOut: false,
    last: `${lines.length - 1} refused`,
  });
  expect(lines.filter((line) => !line.endsWith("refused"))).toEqual([]);
}, 30_000);
