/**
 * A process that has loaded libtorch starts no other: fork() waits for the threads of OpenBLAS, and where there is no memory
 * for them it waits for ever, deaf to SIGTERM. Seen from outside, in the calls of the system.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { nudgeWords } from "../support/start-nudge.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-no-fork-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const hasStrace = spawnSync("strace", ["-f", "-o", "/dev/null", "true"]).status === 0;
if (!hasStrace) console.warn("skipping the test of forks: it needs strace");

test.skipIf(!hasStrace)("training starts no process after libtorch is loaded", { timeout: 120_000 }, () => {
  const trace = join(folder, "trace");
  const words =
    "train --data shapes --test-domain textured --algorithm erm data.perCell=3 data.size=16 --steps 2 --eval-every 1 --batch-size 2 --threads 1 --quiet --out";
  const args = [
    "-f",
    "-o",
    trace,
    "-e",
    "trace=openat,execve",
    ...nudgeWords,
    ...words.split(" "),
    join(folder, "runs"),
  ];
  const { status, stderr } = spawnSync("strace", args, { encoding: "utf8", timeout: 110_000 });
  expect(status, stderr).toBe(0);
  const lines = readFileSync(trace, "utf8").split("\n");
  const loaded = lines.findIndex((line) => /openat\(.*libtorch_cpu\.so.*( = \d+| <unfinished \.\.\.>)$/.test(line));
  expect(loaded).toBeGreaterThan(0);
  expect(lines.slice(loaded).filter((line) => /execve\(.* = 0$/.test(line))).toEqual([]);
});
