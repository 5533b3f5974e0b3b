import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

const root = new URL("../..", import.meta.url).pathname;

test("docs/results.md, docs/statistics.md and docs/algorithms.md are what their commands print from the records that are kept", () => {
  expect(() =>
    execFileSync(process.execPath, ["scripts/make-results.mjs", "--check"], { cwd: root, stdio: "pipe" }),
  ).not.toThrow();
}, 240_000); // twelve reports, each a process of its own
