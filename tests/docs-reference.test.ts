/** The reference in docs/ is what the program says of itself. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeReference } from "../scripts/make-reference.mjs";

const root = join(import.meta.dirname, "..");
const folder = join(root, "docs/reference");

test("docs/reference holds what npm run docs makes", async () => {
  const pages = await makeReference((path) => import(join(root, "src", `${path}.ts`)));
  expect(Object.keys(pages)).toContain("commands.md");
  for (const [name, text] of Object.entries(pages))
    expect(readFileSync(join(folder, name), "utf8"), `docs/reference/${name} is not up to date: npm run docs`).toBe(
      text,
    );
});

test("every variable of the environment that the program reads is in the reference", () => {
  const told = readFileSync(join(folder, "environment.md"), "utf8");
  const files = ["src", "scripts", "bin"].flatMap((each) =>
    readdirSync(join(root, each), { recursive: true, encoding: "utf8" }).map((path) => join(root, each, path)),
  );
  const sources = files.filter((path) => /(?<!\.test)\.(ts|mjs)$/.test(path)).map((path) => readFileSync(path, "utf8"));
  const read = new Set(sources.flatMap((text) => text.match(/\bNUDGE_[A-Z_]+\b/g) ?? []));
  expect(read.size).toBeGreaterThan(5);
  for (const name of read) expect(told, `docs/reference/environment.md says nothing of ${name}`).toContain(name);
});
