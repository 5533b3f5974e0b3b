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
const milliseconds = process.env.NUDGE_LONG ? 60_000 : 4_000;

test(`of ${processes} processes that take it over from the killed, one at a time has it`, {
  timeout: milliseconds + 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-race-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // One plain file: a process that dies soon should not take a second to start.
  const outDir = join(folder, "program");
  await build({ configFile: false, logLevel: "error", build: { ssr: contender, outDir, target: "node20" } });
  const program = join(outDir, readdirSync(outDir)[0]);
  const [lock, log] = [join(folder, "lock"), join(folder, "log")];
  const until = performance.now() + milliseconds;
  let deaths = 0;
  const contend = (): Promise<number | null> =>
    new Promise((done, fail) => {
      const left = String(Math.max(0, until - performance.now()));
      const child = spawn(process.execPath, [program, lock, log, left, "0.02"], { stdio: "inherit" });
      child.on("error", fail);
      child.on("close", (code) => done(code));
    });
  const codes = await Promise.all(
    Array.from({ length: processes }, async () => {
      for (;;) {
        const code = await contend();
        if (code !== null || performance.now() > until) return code;
        deaths++;
      }
    }),
  );
  expect(existsSync(log) ? readFileSync(log, "utf8") : "").toBe("");
  expect(codes.filter((code) => code !== 0 && code !== null)).toEqual([]);
  const turns = readFileSync(`${log}.turns`, "utf8").length;
  // Fewer would say nothing; on two cores there are some hundred turns and dozens of deaths.
  expect(turns).toBeGreaterThan(40);
  expect(deaths).toBeGreaterThan(4);
});
