import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { catchPrinted } from "../../tests/support/printed.js";
import { mountSmallDisk } from "../../tests/support/small-disk.js";
import { main } from "./main.js";
import { checkFile, checkFolder } from "./writable-place.js";

const home = mkdtempSync(join(tmpdir(), "nudge-place-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
writeFileSync(join(home, "file"), "kept");
const printed = catchPrinted();
const disk = mountSmallDisk();

test("the check does not change a writable folder", () => {
  checkFolder(home);
  checkFolder(join(home, "new/folder"));
  checkFile(join(home, "new.csv"));
  checkFile(join(home, "file"));
  expect(readdirSync(home)).toEqual(["file"]);
});

test.each([
  [
    () => checkFolder("/proc/x"),
    "--out /proc/x: nothing can be written in /proc: the system does not allow files there",
  ],
  [() => checkFolder(join(home, "file")), `${join(home, "file")} is not a folder. Choose another path`],
  [() => checkFolder(join(home, "file/runs"), "--figure"), `--figure ${home}/file/runs: ${home}/file is not a folder`],
  [() => checkFile(home), `this is a folder, but a file name is needed, such as ${home}/NAME`],
  [() => checkFile(join(home, "new/a.csv")), `there is no folder ${home}/new. Create it first`],
  [() => checkFile(join(home, "file/a.csv")), `${home}/file is not a folder`],
  [
    () => checkFile("/dev/stdout"),
    "this is a device or pipe, but a file is needed. Remove --out to print to the terminal",
  ],
])("a folder that cannot be used is refused with a clear error (%#)", (check, words) => {
  expect(check).toThrow(words);
});

test.skipIf(!disk)("a full disk is detected before anything starts (needs root)", () => {
  disk!.leave(0);
  expect(() => checkFolder(join(disk!.folder, "runs"))).toThrow(
    `nothing can be written in ${disk!.folder}: ENOSPC: no space left on device. Free some disk space, or choose another path`,
  );
  expect(readdirSync(disk!.folder)).toEqual(["ballast"]);
  disk!.makeRoom();
});

// The place is checked first: other problems would be reported after it, so nothing was read, computed or written before.
test.each([
  "train --data nowhere --out /proc/x",
  "quickstart --out /proc/x",
  "sweep plan --data nowhere --out /proc/x",
  "sweep run --data nowhere --out /proc/x",
  "report nowhere --out /proc/x",
  "embed nowhere --data nowhere --out /proc/x",
  "export nowhere --out /proc/x",
  "predict nowhere nowhere --out /proc/x",
  "eval nowhere --data nowhere --html /proc/x",
  "eval nowhere --data nowhere --figures /proc/x",
  "data inspect nowhere --html /proc/x",
  "synthetic --figure /proc/x",
  "theory --figure /proc/x",
])("nudge %s ends at once", async (line) => {
  expect(await main(line.split(" "))).toBe(1);
  const option = line.split(" ").at(-2);
  expect(printed.stderr).toMatch(new RegExp(`^nudge: ${option} /proc/x: nothing can be written in /proc: [^\\n]+\\n$`));
});

test.each([
  ["train --data nowhere", "--out", "folder", "such as runs; a dot is the current folder"],
  ["embed nowhere --data nowhere", "--out", "folder", "such as runs; a dot is the current folder"],
  ["export nowhere", "--out", "file", "or remove --out"],
  ["predict nowhere nowhere", "--html", "file", "or remove --html"],
  ["data inspect nowhere", "--html", "file", "or remove --html"],
])("nudge %s %s with an empty text is a usage error", async (line, option, kind, advice) => {
  expect(await main([...line.split(" "), option, ""])).toBe(2);
  expect(printed.stderr).toBe(
    `nudge: ${option}: expected the name of a ${kind}, got an empty text. Give a name, ${advice}\n`,
  );
});
