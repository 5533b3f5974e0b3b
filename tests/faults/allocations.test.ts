/**
 * One allocation after the other fails, in the addon and for tensors (allocations.ts, in a process of its own): no crash, no leak, and
 * the same numbers afterwards. NUDGE_LONG=1 fails every one of them.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { runChild } from "../support/child.js";

const every = process.env.NUDGE_LONG ? 1 : 3;
const folder = mkdtempSync(join(tmpdir(), "nudge-allocations-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const library = join(folder, "failing-allocations.so");
const source = fileURLToPath(new URL("failing-allocations.cc", import.meta.url));
const { status } = spawnSync("g++", ["-std=c++17", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"]);
if (status !== 0) console.warn("skipping tests of failing allocations: g++ did not build the library for them");

test.runIf(status === 0)(
  "a failed allocation is an error and leaves no tensors behind",
  { timeout: 600_000 },
  async () => {
    const orders = join(folder, "orders");
    writeFileSync(orders, Buffer.alloc(16));
    const { code, signal, stdout, stderr } = await runChild(new URL("allocations.ts", import.meta.url), {
      args: [String(every), String(Number(process.env.NUDGE_FUZZ_SEED ?? 0))],
      env: { NUDGE_FAILING_ALLOCATIONS: orders, LD_PRELOAD: library },
      timeout: 590_000,
    });
    expect({ code, signal, last: code === 0 ? "" : stderr.slice(-500) }).toEqual({ code: 0, signal: null, last: "" });
    const { allocations, failed, errors, wrong } = JSON.parse(stdout.trim().split("\n").at(-1)!);
    console.info(`${failed} of ${allocations} allocations failed, one at a time; ${errors} were reported as errors`);
    expect(wrong).toEqual([]);
    expect(allocations).toBeGreaterThan(200);
    expect(failed).toBeGreaterThan(allocations / every / 2);
    expect(errors).toBeGreaterThan(failed / 2); // keeping a block for later may fail without a word
  },
);
