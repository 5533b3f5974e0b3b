import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { catchPrinted } from "../../tests/support/printed.js";
import { writeRun } from "../../tests/support/run-folders.js";
import { main } from "./main.js";

const printed = catchPrinted();

/** A folder of two runs, one of them done. */
function someRuns(): string {
  const folder = temporaryFolder();
  writeRun(join(folder, "runs", "a"));
  writeRun(join(folder, "runs", "b"), { done: false, settings: { trialSeed: 1 } });
  return folder;
}

test("runs are packed, reported on and unpacked, and what was done is printed", async () => {
  const folder = someRuns();
  const pack = join(folder, "study.nudge");
  expect(await main(["pack", join(folder, "runs"), "--out", pack])).toBe(0);
  expect(printed.stdout).toMatch(/^packed 2 runs, 1 of them not finished into .*study\.nudge: 1 kB\n$/);
  expect(await main(["report", pack])).toBe(0);
  expect(printed.stdout).toContain("ERM");
  expect(await main(["unpack", pack, "--json"])).toBe(0);
  expect(printed.stdout).toContain(JSON.stringify({ out: join(folder, "study"), runs: 2, notes: [] }));
  const settings = "settings.json";
  expect(readFileSync(join(folder, "study", "b", settings))).toEqual(readFileSync(join(folder, "runs", "b", settings)));
  expect(await main(["unpack", pack])).toBe(2);
  expect(printed.stderr).toContain("is there already and is no empty folder");
});

test("a damaged pack is unpacked as far as possible, and the exit code is 1", async () => {
  const folder = someRuns();
  const pack = join(folder, "study.nudge");
  await main(["pack", join(folder, "runs"), "--out", pack]);
  writeFileSync(pack, readFileSync(pack).subarray(0, -20));
  expect(await main(["unpack", pack])).toBe(1);
  expect(printed.stderr).toContain("study.nudge: block 1, at byte 0, is damaged");
  expect(printed.stdout).toContain("unpacked 0 runs");
});

test.each([
  [["pack", "runs"], "required option '--out <file>'"],
  [["pack", "runs", "--out", "study.zip"], "the name of a pack must end in .nudge"],
  [["pack", "nowhere", "--out", "study.nudge"], "nowhere: no such folder"],
  [["unpack", "package.json"], "package.json: not a packed study"],
  [["sweep", "status", "results/pacs-coral.nudge"], "unpack it first: nudge unpack --help"],
])("%j is refused with what to do", async (args, words) => {
  expect(await main(args)).toBeGreaterThan(0);
  expect(printed.stderr).toContain(words);
});
