#!/usr/bin/env node
/**
 * Fills docs/benchmarks.md, the pages under docs/benchmarks/ and the costs in docs/algorithms.md from the records under
 * results/benchmarks. The text is written by hand. This script generates what is between a comment and `<!-- end -->`:
 *
 *     <!-- benchmarks h200 -->              the table of a machine
 *     <!-- benchmarks h200 outputs -->      the output of all its commands
 *     <!-- benchmarks h200 algorithms -->   the output of one benchmark
 *     <!-- benchmarks cpu-2-cores methods -->   the table of all algorithms, with what they cost and need
 *     <!-- benchmarks h200 costs -->        the table of their costs alone
 *
 *     npm run benchmarks                            writes the pages
 *     node scripts/make-benchmarks.mjs --check      checks that they are current
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { benchmarksFor } from "./benchmarks/list.mjs";
import { costsTable, methodsTable } from "./benchmarks/methods.mjs";
import { rowsOf, tableOf } from "./benchmarks/rows.mjs";
import { textOf } from "./benchmarks/texts.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const PAGES = ["docs/benchmarks.md", "docs/benchmarks/h200.md", "docs/benchmarks/cpu-2-cores.md", "docs/algorithms.md"];

/** The command that makes a record. @param {string} name */
const making = (name) =>
  `node scripts/run-benchmarks.mjs ${name.startsWith("cpu") ? "" : "--device cuda:0 "}--peer --data pacs --root DIR --out results/benchmarks/${name}.json`;

/** @param {string} name */
function recordOf(name) {
  const path = join(root, `results/benchmarks/${name}.json`);
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** The output of a command. @param {string} name @param {import("./benchmarks/rows.mjs").Kept} kept */
const printed = (name, { command, result }) => `\`\`\`text\n$ ${command}\n${textOf(name, result)}\n\`\`\``;

/** The table of a machine. @param {string} name */
function machine(name) {
  const record = recordOf(name);
  if (!record)
    return `There is no record of such a machine yet. This command makes one:\n\n\`\`\`sh\n${making(name)}\n\`\`\``;
  const { cpu, cores, gpu, libtorch, cuda, node } = record.machine;
  /** @type {[string, import("./benchmarks/rows.mjs").Kept][]} */
  const kept = Object.entries(record.benchmarks);
  const busiest = Math.max(...kept.map(([, { busy }]) => busy));
  const asked = benchmarksFor({ device: gpu === null ? "cpu" : "cuda:0", data: [] });
  const missing = [...asked.keys()].filter((each) => !(each in record.benchmarks));
  return [
    `${gpu === null ? "" : `${gpu}; `}${cores} cores (${cpu}), libtorch ${libtorch}${cuda === null ? "" : ` for CUDA ${cuda}`}, Node ${node.slice(1)}. Other work took at most ${(100 * busiest).toFixed(0)} % of the cores just before each command. The command:`,
    `\`\`\`sh\n${making(name)}\n\`\`\``,
    tableOf(rowsOf(record.benchmarks)),
    ...(missing.length > 0 ? [`Not measured yet: ${missing.join(", ")}. The same command measures them.`] : []),
    `The output of the commands is on [a page of its own](benchmarks/${name}.md).`,
  ].join("\n\n");
}

/** The output of all commands on a machine. @param {string} name */
const outputs = (name) =>
  Object.entries(recordOf(name)?.benchmarks ?? {})
    .map(([each, of]) => printed(each, of))
    .join("\n\n");

/** @param {string} name @param {string} benchmark */
function one(name, benchmark) {
  const kept = recordOf(name)?.benchmarks[benchmark];
  if (!kept) throw new Error(`results/benchmarks/${name}.json has no ${benchmark}. Try: ${making(name)}`);
  return printed(benchmark, kept);
}

/** A table of all algorithms. @param {string} name @param {(result: any) => string} table */
function methods(name, table) {
  const kept = recordOf(name)?.benchmarks.algorithms;
  if (!kept) throw new Error(`results/benchmarks/${name}.json has no algorithms`);
  const { backbone, batch, domains, device, precision, threads, repeats } = kept.result;
  const where = device === "cpu" ? `${threads} CPU thread${threads === 1 ? "" : "s"}` : `one GPU, ${precision}`;
  const conditions = `${backbone}, ${domains} domains of ${batch}, ${where}, ${repeats} rounds`;
  const busy = `Other work took ${(100 * kept.busy).toFixed(0)} % of the cores just before.`;
  return `\`${kept.command}\` on ${kept.date}: ${conditions}. ${busy}\n\n${table(kept.result)}`;
}

/** What a comment may ask for. @type {Readonly<Record<string, (name: string) => string>>} */
const PARTS = {
  outputs,
  methods: (name) => methods(name, methodsTable),
  costs: (name) => methods(name, costsTable),
};

/** @param {string} name @param {string | undefined} part */
const partOf = (name, part) => (part === undefined ? machine(name) : (PARTS[part]?.(name) ?? one(name, part)));

const check = process.argv.includes("--check");
for (const page of PAGES) {
  const before = readFileSync(join(root, page), "utf8");
  const after = before.replace(
    /<!-- benchmarks (\S+)(?: (\S+))? -->\n[\s\S]*?<!-- end -->/g,
    (_, name, benchmark) =>
      `<!-- benchmarks ${name}${benchmark ? ` ${benchmark}` : ""} -->\n\n${partOf(name, benchmark)}\n\n<!-- end -->`,
  );
  if (!check) writeFileSync(join(root, page), after);
  else if (after !== before) {
    process.stderr.write(`${page} is not current. Try: npm run benchmarks\n`);
    process.exitCode = 1;
  }
}
