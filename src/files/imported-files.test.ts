import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { importedFiles } from "./imported-files.js";

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "nudge-imports-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

test("imported files are found through other files, with packages by version, and change with their content", () => {
  const folder = folderWith({
    "mine.mjs":
      'import { a } from "./lib/a.mjs";\nimport "some-package/part";\nimport { x } from "nudge-dg";\nimport "node:fs";',
    "lib/a.mjs": "export * from '../b.mjs';\nconst c = await import(`./c.mjs`);",
    "b.mjs": 'import "./mine.mjs";', // a circle
    "lib/c.mjs": 'const d = require("./d");',
    "lib/d.json": "{}",
    "unused.mjs": "",
    "node_modules/some-package/package.json": '{ "version": "1.2.0" }',
    "node_modules/nudge-dg/package.json": '{ "version": "0.2.0" }',
  });
  const before = importedFiles(join(folder, "mine.mjs"), ["nudge-dg"]);
  expect(before.map(({ file }) => file)).toEqual([
    "b.mjs",
    "lib/a.mjs",
    "lib/c.mjs",
    "lib/d.json",
    "some-package@1.2.0",
  ]);
  writeFileSync(join(folder, "lib/d.json"), "[]");
  const after = importedFiles(join(folder, "mine.mjs"), ["nudge-dg"]);
  expect(after.filter(({ sha256 }, i) => sha256 !== before[i].sha256).map(({ file }) => file)).toEqual(["lib/d.json"]);
});
