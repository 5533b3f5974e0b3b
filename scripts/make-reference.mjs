#!/usr/bin/env node
/**
 * Writes docs/reference/ from what the program itself reads: the tables behind `nudge list`, the settings' keys, the shared
 * hyperparameters and the commands' own help. Nothing in there is written by hand, and the engine is not loaded.
 *
 *     npm run docs        after a change to any of them; tests/docs-reference.test.ts fails until it is done
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandsPage } from "./reference/commands.mjs";
import { listPages } from "./reference/lists.mjs";
import { settingsPage } from "./reference/settings.mjs";

/**
 * All pages by file name. `load` imports a module by its path below src/: the script takes dist, the test the sources.
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
  const pages = await makeReference((path) => import(join(root, "dist", `${path}.js`)));
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(pages)) writeFileSync(join(folder, name), text);
  process.stdout.write(`wrote ${Object.keys(pages).length} pages to docs/reference\n`);
}
