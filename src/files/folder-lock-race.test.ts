/** The lock among many processes that die while they have it: at no time do two have it. */

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { expect, onTestFinished, test } from "vitest";

const contender = fileURLToPath(new URL("../../tests/support/lock-contender.ts", import.meta.url));
const processes = 6;
const turns = process.env.NUDGE_LONG ? 1_000 : 25; // of each
const odds = 0.15;

test(`of ${processes} processes that take it over from the killed, one at a time has it`, {
  timeout: 1_000 * turns + 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-race-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // One plain file: a process that dies soon should not take a second to start.
  const outDir = join(folder, "program");
  await build({ configFile: false, logLevel: "error", build: { ssr: contender, outDir, target: "node20" } });
  const program = join(outDir, readdirSync(outDir)[0]);
  const [lock, log] = [join(folder, "lock"), join(folder, "log")];
  let deaths = 0;
  /** Runs one process for some turns, of which it may do fewer; how many it did, and its exit code. */
  const contend = (left: number): Promise<{ made: number; code: number | null }> =>
    new Promise((done, fail) => {
      const child = spawn(process.execPath, [program, lock, log, String(left), String(odds)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let made = 0;
      child.stdout.on("data", (dots: Buffer) => {
        made += dots.length;
      });
      child.on("error", fail);
      child.on("close", (code) => done({ made, code }));
    });
  const codes = await Promise.all(
    Array.from({ length: processes }, async () => {
      for (let left = turns; ; deaths++) {
        const { made, code } = await contend(left);
        left -= made;
        if (code !== null || left === 0) return code;
      }
    }),
  );
  expect(existsSync(log) ? readFileSync(log, "utf8") : "").toBe("");
  expect(codes.filter((code) => code !== 0 && code !== null)).toEqual([]);
  expect(deaths).toBeGreaterThan(8); // 26 or so
});
