import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

const root = new URL("../..", import.meta.url).pathname;

test("docs/results, docs/statistics.md and docs/algorithms.md are up to date with the stored records", () => {
  expect(() =>
    execFileSync(process.execPath, ["scripts/make-results.mjs", "--check"], { cwd: root, stdio: "pipe" }),
  ).not.toThrow();
}, 240_000); // thirteen reports, each in its own process
