#!/usr/bin/env node
/**
 * Copies the finished runs of a sweep to a folder that is kept in the repository: settings, records, times and environment,
 * without weights, logs and pictures, and without the paths and names of the machine they were made on.
 *
 *     node scripts/keep-results.mjs sweeps/pacs-mobilenet_v2 results/pacs-mobilenet_v2
 *     node scripts/keep-results.mjs sweeps/pacs-probe-table1 results/pacs-probe-table1 --metrics accuracy,loss
 *
 * With --metrics only those records are kept: of many runs, the norms, ranks and spectra of features are most of what there is.
 *
 * What is there stays, so that a sweep made in pieces on several machines comes together. Runs are named by what changes
 * their numbers, and paths do not: the plan made again elsewhere finds them done.
 */
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

/** @param {string} problem @returns {never} */
function refuse(problem) {
  process.stderr.write(`keep-results: ${problem}. See the top of the file\n`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({ allowPositionals: true, options: { metrics: { type: "string" } } });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

const { positionals, values } = readArguments();
const [from, to, ...others] = positionals;
if (from === undefined || to === undefined || others.length > 0 || !existsSync(join(from, "plan.jsonl")))
  refuse("expected a sweep's folder and where to keep its results");
const metrics = values.metrics?.split(",");

/** Settings of a run or a plan, without where its files lay. @param {Record<string, unknown>} settings */
function withoutPaths(settings) {
  const { root, cache, weights, request, ...rest } = settings;
  return {
    ...rest,
    ...("root" in settings ? { root: null } : {}),
    ...("cache" in settings ? { cache: null } : {}),
    ...(typeof weights === "string" ? { weights: basename(weights) } : "weights" in settings ? { weights } : {}),
    ...(request && typeof request === "object" ? { request: requestWithoutPaths(request) } : {}),
  };
}

/** What makes a run again: paths are left to whoever makes it. @param {object} request */
function requestWithoutPaths(request) {
  const { root, cache, weights, device, threads, ...rest } = /** @type {Record<string, unknown>} */ (request);
  return rest;
}

/** @param {string} path @param {unknown} value */
const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
/** @param {string} path */
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"));

mkdirSync(join(to, "runs"), { recursive: true });
const planned = readFileSync(join(from, "plan.jsonl"), "utf8").trim().split("\n");
const lines = planned.map((line) => {
  const { cost, ...run } = JSON.parse(line);
  return JSON.stringify({ ...run, request: requestWithoutPaths(run.request) });
});
writeFileSync(join(to, "plan.jsonl"), `${lines.join("\n")}\n`);
const { requests, ...sweep } = readJson(join(from, "sweep.json"));
/** @param {{ given: object }} asked */
const asked = ({ given, ...rest }) => ({ ...rest, given: requestWithoutPaths(given) });
const kind = metrics ? { metricsKept: metrics } : {};
writeJson(join(to, "sweep.json"), { ...sweep, ...kind, requests: (requests ?? []).map(asked) });

/** The lines of a file of records that are kept. @param {string} path */
function recordsOf(path) {
  const text = readFileSync(path, "utf8");
  if (!metrics) return text;
  const lines = text.split("\n").filter((line) => line !== "" && metrics.includes(JSON.parse(line).metric));
  if (lines.length === 0) refuse(`${path} has no record of ${metrics.join(", ")}`);
  return `${lines.join("\n")}\n`;
}

let kept = 0;
for (const name of readdirSync(join(from, "runs"))) {
  const [run, target] = [join(from, "runs", name), join(to, "runs", name)];
  if (!existsSync(join(run, "done")) || existsSync(join(target, "done"))) continue;
  const records = recordsOf(join(run, "records.jsonl"));
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, "records.jsonl"), records);
  writeJson(join(target, "settings.json"), withoutPaths(readJson(join(run, "settings.json"))));
  const { host, ...environment } = readJson(join(run, "environment.json"));
  writeJson(join(target, "environment.json"), environment);
  for (const file of ["timing.jsonl", "done"]) copyFileSync(join(run, file), join(target, file));
  kept++;
}
process.stdout.write(`kept ${kept} runs more in ${to}: ${readdirSync(join(to, "runs")).length} of ${planned.length}\n`);
