/** The lock among many processes that die while they have it: at no time do two have it. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { contend } from "../../tests/support/contend.js";
import { STILL_MS } from "./folder-lock.js";

const processes = 6;
const turns = process.env.NUDGE_LONG ? 1_000 : 25; // of each

test(`of ${processes} processes that take it over from the killed, one at a time has it`, {
  timeout: 1_000 * turns + 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-race-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }), 60_000); // long on a busy disk
  const { deaths, codes, log } = await contend({
    folder,
    processes: Array.from({ length: processes }, () => ({ lock: join(folder, "lock") })),
    ...{ turns, odds: 0.15, stillFor: STILL_MS },
  });
  console.info(`${processes * turns} turns of ${processes} processes, of which ${deaths} were killed`);
  expect(log).toBe("");
  expect(codes).toEqual([]);
  expect(deaths).toBeGreaterThan(8); // 26 or so
});

test("two processes with two locks are seen to be inside at once, so the test above can fail", async () => {
  const folder = mkdtempSync(join(tmpdir(), "nudge-race-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }), 60_000); // long on a busy disk
  const processes = ["one", "two"].map((name) => ({ lock: join(folder, name) }));
  const { log } = await contend({ folder, processes, turns: 50, odds: 0, stillFor: STILL_MS });
  expect(log).toContain("is inside too");
});
