#!/usr/bin/env node
/**
 * Counts lines of code by folder, without blank lines, comments, tests, fixtures and generated files.
 *
 *     node scripts/count-lines.mjs            the working tree
 *     node scripts/count-lines.mjs main       a commit
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const [commit] = process.argv.slice(2);

/** @param {string[]} args */
const git = (...args) => execFileSync("git", ["-C", root, ...args], { encoding: "utf8", maxBuffer: 1 << 28 });

/** @param {string} path */
const isCounted = (path) =>
  /^(src|native|scripts)\/.*\.(ts|tsx|mjs|cc|h|css)$/.test(path) && !/\.(test|fixture|generated)\.ts$/.test(path);

/** Comments begin a line in this repository, or follow code, which counts. @param {string} text */
function linesOfCode(text) {
  const bare = text.replaceAll(/^\s*\/\*[\s\S]*?\*\/[ \t]*$/gm, "");
  return bare.split("\n").filter((line) => line.trim() !== "" && !/^\s*\/\//.test(line)).length;
}

const listed = commit
  ? git("ls-tree", "-r", "--name-only", commit)
  : git("ls-files", "--cached", "--others", "--exclude-standard");
/** @type {Map<string, number>} */
const counts = new Map();
for (const path of listed.split("\n").filter(isCounted)) {
  const folder = path
    .split("/")
    .slice(0, path.startsWith("src/") ? 2 : 1)
    .join("/")
    .replace(/[^/]*\.ts$/, "");
  let text = "";
  try {
    text = commit ? git("show", `${commit}:${path}`) : readFileSync(join(root, path), "utf8");
  } catch {
    continue; // deleted and not yet committed
  }
  counts.set(folder, (counts.get(folder) ?? 0) + linesOfCode(text));
}
for (const [folder, lines] of [...counts].sort()) console.log(`${String(lines).padStart(7)}  ${folder}`);
console.log(`${String([...counts.values()].reduce((sum, lines) => sum + lines, 0)).padStart(7)}  all`);
