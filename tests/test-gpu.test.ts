import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { devices } from "../src/engine/device.js";

const root = join(import.meta.dirname, "..");
const script = join(root, "scripts/test-gpu.mjs");

test("without a GPU, npm run test:gpu reports that it skips, and does not fail", ({ skip }) => {
  skip(devices().length > 1, "skipped: there is a GPU");
  const { status, stdout } = spawnSync(process.execPath, [script], { encoding: "utf8" });
  expect(stdout).toMatch(/^skipped: there is no GPU/);
  expect(status).toBe(0);
});

test("the test files that npm run test:gpu names exist", () => {
  const named = [...readFileSync(script, "utf8").matchAll(/"((?:src|tests)\/.*\.test\.ts)"/g)].map(([, path]) => path);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});
