#!/usr/bin/env node
/**
 * Fills docs/results.md, the pages under docs/results/, docs/statistics.md and a table of docs/algorithms.md from the packed
 * studies under results/. A comment names the source of each part, and `<!-- end -->` ends the part:
 *
 *     <!-- nudge report results/pacs-probe.nudge -->                    the output of that command
 *     <!-- table report results/pacs-probe.nudge --only coverage -->    only the tables of that output
 *     <!-- script withheld-sources --rows results/withheld-pacs.json --> the output of that script in scripts/
 *     <!-- script studies/rank-or-scale/result results/study.nudge -->  the output of a script elsewhere
 *     <!-- figure probe.svg results/pacs-probe.nudge improvement: … --> a figure of the report on a study, and its caption;
 *                                                                       options of the report may follow the study
 *     <!-- figure study.svg script studies/rank-or-scale/result results/study.nudge: … -->  a figure that the script draws
 *                                                                       with --figure FILE
 *
 * A test checks that these parts are current. Parts of a study that does not exist yet are not changed.
 *
 *     npm run results                            writes the pages and their figures
 *     node scripts/make-results.mjs --check      checks that the pages are current
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const details = readdirSync(join(root, "docs/results")).sort();
const PAGES = [
  "docs/results.md",
  ...details.map((name) => `docs/results/${name}`),
  "docs/statistics.md",
  "docs/algorithms.md",
];
const check = process.argv.includes("--check");

/** The output of a nudge command. @param {readonly string[]} words */
const nudge = (words) =>
  execFileSync(process.execPath, [join(root, "bin/nudge.mjs"), ...words], { cwd: root, encoding: "utf8" });

/** Splits a command into arguments. Arguments with spaces are in quotes. @param {string} line */
const wordsOf = (line) => (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"(.*)"$/, "$1"));

/** The study that a part needs and that does not exist, if any. @param {string} words */
const missing = (words) =>
  wordsOf(words)
    .map((word) => word.replace(/:$/, "")) // before the caption of a figure
    .find((word) => word.startsWith("results/") && !existsSync(join(root, word)));

/** The output of a script, by its path without the extension, or its name in scripts/. @param {readonly string[]} words */
function script([name, ...args]) {
  const path = join(root, `${name.includes("/") ? name : `scripts/${name}`}.mjs`);
  return execFileSync(process.execPath, [path, ...args], { cwd: root, encoding: "utf8" });
}

/** Figures that scripts draw: the arguments of the script, and the file. @type {[words: string, file: string][]} */
const drawn = [];

/** Figures to copy: by the arguments of the report, the name of each figure in the report and its file. @type {Map<string, [name: string, file: string][]>} */
const figures = new Map();

/** The text of a part. @param {string} page @param {string} kind @param {string} words */
function partText(page, kind, words) {
  // Headings of a report become subheadings of the page.
  if (kind === "nudge") return nudge(wordsOf(words)).replace(/^## /gm, "### ").trim();
  if (kind === "script") return script(wordsOf(words)).trim();
  if (kind === "table") return (nudge(wordsOf(words)).match(/^\|.*$/gm) ?? []).join("\n");
  const image = (/** @type {string} */ file, /** @type {string} */ about) =>
    `![${about}](${relative(dirname(page), "docs/figures")}/${file})`;
  const [, byScript, args, shown] = /^(\S+) script ([^:]+): (.+)$/.exec(words) ?? [];
  if (shown !== undefined) {
    drawn.push([args, byScript]);
    return image(byScript, shown);
  }
  const [, file, report, name, about] = /^(\S+) ([^:]+) (\S+): (.+)$/.exec(words) ?? [];
  if (about === undefined) throw new Error(`figure ${words}: expected FILE STUDY NAME: what it shows`);
  figures.set(report, [...(figures.get(report) ?? []), [name, file]]);
  return image(file, about);
}

for (const page of PAGES) {
  const before = readFileSync(join(root, page), "utf8");
  const after = before.replace(
    /<!-- (nudge|table|script|figure) (.+?) -->\n[\s\S]*?<!-- end -->/g,
    (part, kind, words) => {
      const gone = missing(words);
      if (gone === undefined) return `<!-- ${kind} ${words} -->\n\n${partText(page, kind, words)}\n\n<!-- end -->`;
      process.stderr.write(`${gone} does not exist yet. Unchanged: ${kind} ${words}\n`);
      return part;
    },
  );
  if (!check) writeFileSync(join(root, page), after);
  else if (after !== before) {
    process.stderr.write(`${page} is not current. Try: npm run results\n`);
    process.exitCode = 1;
  }
}
for (const [words, file] of check ? [] : drawn)
  script([...wordsOf(words), "--figure", join(root, "docs/figures", file)]);
for (const [words, wanted] of check ? [] : figures) {
  const made = mkdtempSync(join(tmpdir(), "nudge-results-"));
  try {
    nudge(["report", ...wordsOf(words), "--format", "figures", "--out", made]);
    for (const [name, file] of wanted)
      copyFileSync(join(made, `figures/${name}.svg`), join(root, "docs/figures", file));
  } finally {
    rmSync(made, { recursive: true });
  }
}
