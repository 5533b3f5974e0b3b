#!/usr/bin/env node
/**
 * Fills docs/results.md from the records under results/: between `<!-- nudge … -->` and `<!-- end -->` stands what that
 * command prints. So every number there is a command's, and a test sees to it that it still is.
 *
 *     npm run results                            writes the page and its figures
 *     node scripts/make-results.mjs --check      says whether the page is what the commands print
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = join(root, "docs/results.md");

/** What a nudge command prints. @param {readonly string[]} words */
const nudge = (words) =>
  execFileSync(process.execPath, [join(root, "bin/nudge.mjs"), ...words], { cwd: root, encoding: "utf8" });

const before = readFileSync(page, "utf8");
const after = before.replace(
  /<!-- nudge (.+?) -->\n[\s\S]*?<!-- end -->/g,
  // Headings of a report go under those of the page.
  (_, words) =>
    `<!-- nudge ${words} -->\n\n${nudge(words.split(" ")).replace(/^## /gm, "### ").trim()}\n\n<!-- end -->`,
);
if (process.argv.includes("--check")) {
  if (after !== before) {
    process.stderr.write("docs/results.md is not what its commands print. Try: npm run results\n");
    process.exit(1);
  }
} else {
  writeFileSync(page, after);
  const folder = mkdtempSync(join(tmpdir(), "nudge-results-"));
  try {
    nudge(["report", "results/pacs-mobilenet_v2", "--format", "figures", "--out", folder]);
    for (const name of ["improvement", "curves-pacs-sketch"])
      copyFileSync(join(folder, `figures/${name}.svg`), join(root, `docs/figures/results-${name}.svg`));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
