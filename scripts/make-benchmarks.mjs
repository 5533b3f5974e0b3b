#!/usr/bin/env node
/**
 * Fills docs/benchmarks.md, and the costs in docs/algorithms.md, from the records under results/benchmarks. The words are
 * written by hand; what stands between `<!-- benchmarks RECORD … -->` and `<!-- end -->` is made here: a machine's table and
 * what its commands printed, or with a benchmark's name, what that one did.
 *
 *     npm run benchmarks                            writes the pages
 *     node scripts/make-benchmarks.mjs --check      says whether they are what the records make
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { benchmarksFor } from "./benchmarks/list.mjs";
import { rowsOf, tableOf } from "./benchmarks/rows.mjs";
import { textOf } from "./benchmarks/texts.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const PAGES = ["docs/benchmarks.md", "docs/algorithms.md"];

/** The command that makes a record. @param {string} name */
const making = (name) =>
  `node scripts/run-benchmarks.mjs ${name.startsWith("cpu") ? "" : "--device cuda:0 "}--peer --data pacs --root DIR --out results/benchmarks/${name}.json`;

/** @param {string} name */
function recordOf(name) {
  const path = join(root, `results/benchmarks/${name}.json`);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** What a command printed. @param {string} name @param {import("./benchmarks/rows.mjs").Kept} kept */
const printed = (name, { command, result }) => `\`\`\`text\n$ ${command}\n${textOf(name, result)}\n\`\`\``;

/** A machine's part of the page. @param {string} name */
function machine(name) {
  const record = recordOf(name);
  if (!record)
    return `There is no record of such a machine yet. On one, this makes it:\n\n\`\`\`sh\n${making(name)}\n\`\`\``;
  const { cpu, cores, gpu, libtorch, cuda, node } = record.machine;
  /** @type {[string, import("./benchmarks/rows.mjs").Kept][]} */
  const kept = Object.entries(record.benchmarks);
  const busiest = Math.max(...kept.map(([, { busy }]) => busy));
  const asked = benchmarksFor({ device: gpu === null ? "cpu" : "cuda:0", data: [] });
  const missing = [...asked.keys()].filter((each) => !(each in record.benchmarks));
  return [
    `${gpu === null ? "" : `${gpu}; `}${cores} cores (${cpu}), libtorch ${libtorch}${cuda === null ? "" : ` for CUDA ${cuda}`}, Node ${node.slice(1)}. Other work took at most ${(100 * busiest).toFixed(0)} % of the cores just before each command. Made by`,
    `\`\`\`sh\n${making(name)}\n\`\`\``,
    tableOf(rowsOf(record.benchmarks)),
    ...(missing.length > 0 ? [`Not made yet: ${missing.join(", ")}. The same command makes them.`] : []),
    "What the commands printed, of which the table is made:",
    ...kept.map(([each, of]) => printed(each, of)),
  ].join("\n\n");
}

/** @param {string} name @param {string} benchmark */
function one(name, benchmark) {
  const kept = recordOf(name)?.benchmarks[benchmark];
  if (!kept) throw new Error(`results/benchmarks/${name}.json has no ${benchmark}. Try: ${making(name)}`);
  return printed(benchmark, kept);
}

const check = process.argv.includes("--check");
for (const page of PAGES) {
  const before = readFileSync(join(root, page), "utf8");
  const after = before.replace(
    /<!-- benchmarks (\S+)(?: (\S+))? -->\n[\s\S]*?<!-- end -->/g,
    (_, name, benchmark) =>
      `<!-- benchmarks ${name}${benchmark ? ` ${benchmark}` : ""} -->\n\n${benchmark ? one(name, benchmark) : machine(name)}\n\n<!-- end -->`,
  );
  if (!check) writeFileSync(join(root, page), after);
  else if (after !== before) {
    process.stderr.write(`${page} is not what the records make. Try: npm run benchmarks\n`);
    process.exitCode = 1;
  }
}
