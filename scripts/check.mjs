#!/usr/bin/env node
/**
 * The part of `npm test` after the build: types, lint and format, then the tests. It stops at the first failure.
 * `--all` adds the long tests; other arguments are passed to vitest, as in `npm test -- src/engine`. The last line is
 * the count.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countTests, summaryLine } from "./check/count.mjs";

const root = join(import.meta.dirname, "..");

/** Runs one of the packages' programs with our output, and ends with its failure. @param {string} heading
 * @param {string[]} command @param {string} advice @param {Record<string, string>} [env] */
function step(heading, command, advice, env = {}) {
  process.stdout.write(`\n== ${heading}\n`);
  const [program, ...args] = command;
  const options = { cwd: root, stdio: /** @type {const} */ ("inherit"), env: { ...process.env, ...env } };
  const { status, signal } = spawnSync(join(root, "node_modules/.bin", program), args, options);
  if (status === 0) return true;
  process.stdout.write(`\n${heading}: failed${signal ? ` (${signal})` : ""}. ${advice}\n`);
  process.exitCode = 1;
  return false;
}

/** Runs the tests and prints the count. @param {string[]} args @param {boolean} long */
function test(args, long) {
  const folder = mkdtempSync(join(tmpdir(), "nudge-test-"));
  const report = join(folder, "report.json");
  try {
    const command = ["vitest", "run", "--reporter=default", "--reporter=json", `--outputFile.json=${report}`, ...args];
    const heading = long ? "tests, the long ones too" : "tests";
    const ok = step(heading, command, "See above for the first failure", long ? { NUDGE_LONG: "1" } : {});
    const counts = countTests(JSON.parse(readFileSync(report, "utf8")));
    // Vitest also fails if no test ran, or if something was thrown outside of a test.
    process.stdout.write(`${summaryLine({ ...counts, failed: Math.max(counts.failed, ok ? 0 : 1) })}\n`);
  } catch (error) {
    process.stdout.write(`the tests left no report: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const args = process.argv.slice(2);
const rest = args.filter((argument) => argument !== "--all");
if (
  step("types", ["tsc", "-p", "tsconfig.json", "--noEmit"], "Mend the types above") &&
  step("types of the page", ["tsc", "-p", "tsconfig.page.json", "--noEmit"], "Mend the types above") &&
  step(
    "lint and format",
    ["biome", "ci", ".", ...(process.stdout.isTTY ? [] : ["--colors=off"])],
    "Try: npm run format",
  )
)
  test(rest, args.includes("--all"));
