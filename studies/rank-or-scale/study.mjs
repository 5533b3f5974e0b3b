/** What the scripts of the study "rank or scale" (docs/study.md) share: the plug-ins, the comparisons, reports, and means late in training. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readResults } from "../../dist/report/read-results.js";

const here = dirname(fileURLToPath(import.meta.url));
const program = join(here, "../../bin/nudge.mjs");

/** The files of the plug-ins, in the format of $NUDGE_PLUGINS. */
export const plugins = readdirSync(join(here, "plugins"))
  .map((name) => join(here, "plugins", name))
  .join(delimiter);

/** The primary comparisons, first minus second. */
export const COMPARISONS = [
  { name: "P1", first: "ERM-NU", second: "ERM" },
  { name: "P2", first: "ERM-FRO", second: "ERM-NU" },
  { name: "P3", first: "NormERM-NU", second: "NormERM" },
  { name: "P4", first: "ERM-RATIO", second: "ERM" },
  { name: "P5", first: "NormERM", second: "ERM" },
];

/** The margin of equivalence, in points of accuracy. */
export const MARGIN = 0.5;

/** Prints an error and exits. @param {string} message @returns {never} */
export function stop(message, status = 2) {
  process.stderr.write(`${message}\n`);
  process.exit(status);
}

/** Runs a nudge command with the plug-ins, and returns its output. If it fails, so does the script. @param {readonly string[]} args */
export function nudge(args) {
  const { status, stdout } = spawnSync(process.execPath, [program, ...args], {
    env: { ...process.env, NUDGE_PLUGINS: plugins },
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  if (status !== 0) process.exit(status ?? 1);
  return stdout;
}

/** The report on a study with some of the comparisons, as data. @param {string} study @param {readonly { first: string, second: string }[]} comparisons @param {readonly string[]} options */
export function reportOn(study, comparisons, options = []) {
  const compare = comparisons.flatMap(({ first, second }) => ["--compare", `${first},${second}`]);
  return JSON.parse(nudge(["report", study, ...compare, ...options, "--json"]));
}

/** The name of a method without the settings that a report adds to it. @param {string} title */
export const withoutSettings = (title) => title.replace(/ \[.*/, "");

/** @param {readonly number[]} values */
export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

const TITLES = {
  erm: "ERM",
  "normalized-erm": "NormERM",
  "nuclear-norm": "NU",
  "frobenius-norm": "FRO",
  "norm-ratio": "RATIO",
};

/**
 * A run of a study: its method, the weight of its penalty, and the records of the second half of its training.
 *
 * @typedef {{ step: number, domain: string | null, split: string | null, metric: string, value: number }} Row
 * @typedef {{ method: string, weight: number | null, dataset: string, heldOut: string, trial: number, late: Row[] }} Run
 */

/** The finished runs of a sweep's folder or a packed study. @param {string} study @returns {Run[]} */
export function runsOf(study) {
  const finished = readResults([study]).stored.filter(({ done }) => done);
  return finished.map(({ settings, records }) => {
    const { algorithm, regularizers, dataset, testDomains, trialSeed } = /** @type {any} */ (settings);
    const parts = [algorithm, ...regularizers.map((/** @type {{ id: string }} */ { id }) => id)];
    const half = Math.max(...records.map(({ step }) => step)) / 2;
    return {
      method: parts.map((id) => TITLES[/** @type {keyof typeof TITLES} */ (id)] ?? id).join("-"),
      weight: regularizers[0]?.settings.weight ?? null,
      ...{ dataset, heldOut: testDomains[0], trial: trialSeed },
      late: records.filter(({ step, model }) => step >= half && model === "current"),
    };
  });
}

/** A measure of a run on validation pictures of its training domains, or of its weights, as the mean late in training. @param {Run} run @param {string} metric */
export const lateMeasure = ({ late }, metric) =>
  mean(
    late.filter((row) => row.metric === metric && row.domain === null && row.split !== "in").map(({ value }) => value),
  );

/** The two checks of docs/study.md: a comparison is counted only if its methods differ, or do not differ, in this measure. */
const CHECKS = [
  { name: "P2", metric: "frobeniusNorm", label: "‖F‖_F", needed: "within ±5 %", low: -0.05, high: 0.05 },
  { name: "P3", metric: "effectiveRank", label: "effective rank", needed: "-10 % or lower", low: -1, high: -0.1 },
  { name: "P4", metric: "effectiveRank", label: "effective rank", needed: "-10 % or lower", low: -1, high: -0.1 },
];

/**
 * The checks of the comparisons whose methods have runs: the mean of each method over the trials and held-out domains
 * that both have, and the relative difference.
 *
 * @param {readonly Run[]} runs
 */
export function checksOf(runs) {
  return CHECKS.flatMap(({ name, metric, low, high, ...check }) => {
    const { first, second } = COMPARISONS.filter((each) => each.name === name)[0];
    const of = (/** @type {string} */ method) => runs.filter((run) => run.method === method);
    const cell = (/** @type {Run} */ { trial, heldOut }) => `${trial} ${heldOut}`;
    const [mine, others] = [of(first), of(second)].map((all, i, both) => {
      const shared = new Set(both[1 - i].map(cell));
      return all.filter((run) => shared.has(cell(run)));
    });
    if (mine.length === 0) return [];
    const values = [mine, others].map((each) => mean(each.map((run) => lateMeasure(run, metric))));
    const difference = values[0] / values[1] - 1;
    const passed = difference >= low && difference <= high;
    return [{ ...check, name, first, second, values, difference, passed, runs: mine.length }];
  });
}

/** A relative difference in percent, with its sign. @param {number} share */
export const percent = (share) => `${share > 0 ? "+" : ""}${(100 * share).toFixed(1)} %`;

/** A table in Markdown. @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
export const table = (head, rows) =>
  [head, head.map((_, i) => (i === 0 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |\n`).join("");
