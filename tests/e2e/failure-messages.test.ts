/** What goes wrong around the program, in a process of its own: one line that says what to do, no stack, and an exit code. */

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { distIsCurrent } from "../support/start-nudge.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-failures-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(join(folder, "self.yaml"), "a: &x\n  b: *x\n");
writeFileSync(join(folder, "nul.yaml"), 'data: "a\\0b"\nalgorithm: erm\n');
writeFileSync(join(folder, "huge.yaml"), "data: shapes\ntrials: 1000000000\n");
if (!distIsCurrent) console.warn("skipping tests of the built program: dist/ is older than src/. Try: npm run setup");

const nudge = `"${process.execPath}" "${fileURLToPath(new URL("../../bin/nudge.cjs", import.meta.url))}"`;
const batch = "train --data shapes --test-domain textured --algorithm erm --steps 2 --out r --batch-size 1000000000000";

const CASES: [line: string, code: number, words: RegExp][] = [
  [`${nudge} list algorithms > /dev/full`, 1, /^nudge: the output could not be written: ENOSPC[^\n]*\n$/],
  [`ulimit -n 24 && ${nudge} list algorithms`, 1, /^nudge: too many files are open: raise the limit[^\n]*\n$/],
  [`${nudge} train --config self.yaml --out r`, 1, /self\.yaml: the settings are nested too deeply, or refer to them/],
  [`${nudge} train --config nul.yaml --out r`, 2, /^nudge: data: expected text without NUL characters[^\n]*\n$/],
  [`${nudge} ${batch}`, 2, /nudge: batchSize 1000000000000: a batch of [^\n]* reduce batchSize\n$/],
  [`${nudge} sweep plan --data shapes --trials 1000000000 --dry-run`, 2, /^nudge: trials: expected at most 1,000,000 /],
  [`${nudge} sweep plan --data shapes --hparams 2147483648 --dry-run`, 2, /^nudge: hparams: expected at most /],
  [`${nudge} sweep plan --config huge.yaml --dry-run`, 2, /^nudge: trials: expected at most 1,000,000 /],
];

test
  .skipIf(!distIsCurrent || !existsSync("/dev/full"))
  .each(CASES.map((each) => [each[0].replace(nudge, "nudge"), ...each] as const))(
  "%s ends with a message",
  (_, line, code, words) => {
    const { status, signal, stderr } = spawnSync("sh", ["-c", line], {
      cwd: folder,
      encoding: "utf8",
      timeout: 50_000,
    });
    expect(stderr).toMatch(words);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect({ status, signal }).toEqual({ status: code, signal: null });
  },
);
