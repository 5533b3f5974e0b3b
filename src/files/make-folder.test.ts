import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { makeFolder } from "./make-folder.js";

const home = mkdtempSync(join(tmpdir(), "nudge-make-folder-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test("a folder is created with its parents, and a second call does not change it", () => {
  const folder = join(home, "a/b/c");
  makeFolder(folder);
  writeFileSync(join(folder, "kept"), "");
  makeFolder(`${folder}/`);
  expect(statSync(folder).isDirectory() && existsSync(join(folder, "kept"))).toBe(true);
});

test.each([
  { what: "a file", path: join(home, "file"), code: "EEXIST" },
  { what: "a place below a file", path: join(home, "file/x/y"), code: "EEXIST" },
  { what: "a place the system keeps for itself", path: "/proc/x/y", code: "ENOENT" }, // where Node's own mkdir never ends
])("$what is an error, at once", ({ path, code }) => {
  writeFileSync(join(home, "file"), "");
  expect(() => makeFolder(path)).toThrow(expect.objectContaining({ code }));
});
