/** The reference in docs/ is what the program says of itself. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeReference } from "../scripts/make-reference.mjs";
import { apiPages } from "../scripts/reference/api.mjs";

const root = join(import.meta.dirname, "..");
const folder = join(root, "docs/reference");

test("docs/reference is up to date with npm run docs", async () => {
  const pages = await makeReference((path) => import(join(root, "src", `${path}.ts`)));
  expect(Object.keys(pages)).toContain("commands.md");
  for (const [name, text] of Object.entries(pages))
    expect(readFileSync(join(folder, name), "utf8"), `docs/reference/${name} is not up to date: npm run docs`).toBe(
      text,
    );
});

test("the API reference has a page for every entry of the package", { timeout: 120_000 }, () => {
  const declarations = mkdtempSync(join(tmpdir(), "nudge-declarations-"));
  try {
    const options = ["--declaration", "--emitDeclarationOnly", "--sourceMap", "false", "--outDir", declarations];
    execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.build.json", ...options], { cwd: root });
    const pages = apiPages(root, declarations);
    const entries = Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).exports);
    expect(Object.keys(pages)).toHaveLength(entries.length + 1); // and the list of them
    for (const text of Object.values(pages)) expect(text).toMatch(/^# .+\n/);
  } finally {
    rmSync(declarations, { recursive: true });
  }
});

test("every environment variable that the program reads is in the reference", () => {
  const told = readFileSync(join(folder, "environment.md"), "utf8");
  const files = ["src", "scripts", "bin"].flatMap((each) =>
    readdirSync(join(root, each), { recursive: true, encoding: "utf8" }).map((path) => join(root, each, path)),
  );
  const sources = files.filter((path) => /(?<!\.test)\.(ts|mjs)$/.test(path)).map((path) => readFileSync(path, "utf8"));
  const read = new Set(sources.flatMap((text) => text.match(/\bNUDGE_[A-Z_]+\b/g) ?? []));
  expect(read.size).toBeGreaterThan(5);
  for (const name of read) expect(told, `docs/reference/environment.md says nothing of ${name}`).toContain(name);
});
