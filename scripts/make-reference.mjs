#!/usr/bin/env node
/**
 * Writes docs/reference/ from the program: the tables of `nudge list`, the keys of the settings, the shared
 * hyperparameters, the help of the commands, and the declarations of the library. Only environment.md is written by
 * hand. The engine is not loaded.
 *
 *     npm run docs        after a change to any of them; tests/docs-reference.test.ts fails until it is run
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { apiPages } from "./reference/api.mjs";
import { commandsPage } from "./reference/commands.mjs";
import { listPages } from "./reference/lists.mjs";
import { settingsPage } from "./reference/settings.mjs";

/**
 * All pages by file name. `load` imports a module by its path below src/: the script imports from dist, the test from the sources.
 *
 * @param {(path: string) => Promise<any>} load @returns {Promise<Record<string, string>>}
 */
export async function makeReference(load) {
  return {
    ...(await listPages(load)),
    "settings.md": await settingsPage(load),
    "commands.md": await commandsPage(load),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  const folder = join(root, "docs/reference");
  const made = await makeReference((path) => import(join(root, "dist", `${path}.js`)));
  const pages = { ...made, ...apiPages(root, join(root, "dist")) };
  rmSync(join(folder, "api"), { recursive: true, force: true });
  mkdirSync(join(folder, "api"), { recursive: true });
  for (const [name, text] of Object.entries(pages)) writeFileSync(join(folder, name), text);
  process.stdout.write(`wrote ${Object.keys(pages).length} pages to docs/reference\n`);
}
