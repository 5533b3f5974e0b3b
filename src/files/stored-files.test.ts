import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { FolderFiles } from "./stored-files.js";

const folder = mkdtempSync(join(tmpdir(), "nudge-stored-files-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("texts of any length are read as they are, one after the other", () => {
  const files = new FolderFiles(folder);
  for (const length of [0, 1, 65_535, 65_536, 65_537, 200_001])
    for (const start of ["", "é漢🙂"]) {
      const text = `${start}${"x".repeat(Math.max(0, length - Buffer.byteLength(start)))}`;
      writeFileSync(join(folder, "a.txt"), text);
      expect(files.text("a.txt") === text, `${start}${length}`).toBe(true);
    }
});

test("a missing file has no text, and a folder cannot be read as one", () => {
  mkdirSync(join(folder, "sub"));
  const files = new FolderFiles(join(folder, "sub", ".."));
  expect([files.text("missing"), files.text("a.txt/below"), files.has("sub"), files.has("missing")]).toEqual([
    undefined,
    undefined,
    true,
    false,
  ]);
  expect(() => files.text("sub")).toThrow(`${join(folder, "sub")}: expected a plain file, found a folder`);
});
