/** What the scripts of the study "rank or scale" (docs/study.md) share: the plug-ins, the comparisons, reports, and means late in training. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readResults } from "../../dist/report/read-results.js";
import { CALIBRATED } from "./blocks.mjs";

const here = dirname(fileURLToPath(import.meta.url));

/** The folder of the repository. */
export const top = join(here, "../..");
const program = join(top, "bin/nudge.mjs");

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
  "scaled-erm": "ScaledERM",
  "nuclear-norm": "NU",
  "centred-nuclear-norm": "CNU",
  "frobenius-norm": "FRO",
  "norm-ratio": "RATIO",
  "rank-raising": "RAISE",
  "row-norm": "ROW",
  "top-singular-value": "TOP",
  "lower-singular-values": "LOWER",
  "feature-variance": "VAR",
};

/**
 * A run of a study: its method, as rows are named in blocks.mjs, the settings of its algorithm and penalties, and the records of the second half of
 * its training.
 *
 * @typedef {{ step: number, domain: string | null, split: string | null, metric: string, value: number }} Row
 * @typedef {{ method: string, values: Record<string, any>, dataset: string, backbone: string, heldOut: string, trial: number, late: Row[] }} Run
 */

/** The finished runs of a sweep's folder or a packed study. @param {string} study @returns {Run[]} */
export function runsOf(study) {
  const finished = readResults([study]).stored.filter(({ done }) => done);
  return finished.map(({ settings, records }) => {
    const { algorithm, regularizers, hparams, dataset, backbone, testDomains, trialSeed, fixed } = /** @type {any} */ (
      settings
    );
    const parts = [{ id: algorithm, settings: hparams ?? {} }, ...regularizers];
    const values = Object.fromEntries(
      parts.flatMap(({ id, settings }) => Object.entries(settings).map(([key, value]) => [`${id}.${key}`, value])),
    );
    const title = parts.map(({ id }) => TITLES[/** @type {keyof typeof TITLES} */ (id)] ?? id).join("-");
    const own = {
      ...(values["frobenius-norm.on"] === "logits" && { on: "logits" }),
      ...((values["scaled-erm.temperature"] ?? 1) !== 1 && { temperature: values["scaled-erm.temperature"] }),
      ...(fixed?.headLr !== undefined && { headLr: fixed.headLr }),
      ...(fixed?.clipNorm !== undefined && { clipNorm: fixed.clipNorm }),
    };
    const half = Math.max(...records.map(({ step }) => step)) / 2;
    return {
      method: [title, ...Object.entries(own).map(([key, value]) => `${key}=${value}`)].join(" "),
      ...{ values, dataset, backbone, heldOut: testDomains[0], trial: trialSeed },
      late: records.filter(({ step, model }) => step >= half && model === "current"),
    };
  });
}

/** A measure of a run on validation pictures of its training domains, or of its weights, as the mean late in training. @param {Run} run @param {string} metric */
export const lateMeasure = ({ late }, metric) =>
  mean(
    late.filter((row) => row.metric === metric && row.domain === null && row.split !== "in").map(({ value }) => value),
  );

/** The accuracy of a run on its held-out domain, as the mean late in training. @param {Run} run */
export const lateAccuracy = ({ late, heldOut }) =>
  mean(
    late
      .filter(({ metric, domain, split }) => metric === "accuracy" && domain === heldOut && split === "in")
      .map(({ value }) => value),
  );

const SCALE = { metric: "frobeniusNorm", label: "‖F‖_F", needed: "within ±5 %", low: -0.05, high: 0.05 };
const RANK = { metric: "effectiveRank", label: "effective rank", needed: "-10 % or lower", low: -1, high: -0.1 };

/** The checks of docs/study.md: a comparison is counted only if its methods differ, or do not differ, in this measure. */
const CHECKS = [
  ...COMPARISONS.flatMap((pair) => {
    const check = { P2: SCALE, P3: RANK, P4: RANK }[pair.name];
    return check ? [{ ...check, ...pair }] : [];
  }),
  ...CALIBRATED.filter(({ name, by }) => by === "scale" && name !== "ERM-FRO").map(({ name }) => {
    return { ...SCALE, name: "control", first: name, second: "ERM-NU" };
  }),
];

/**
 * The checks of the comparisons whose methods have runs: the mean of each method over the trials and held-out domains
 * that both have, and the relative difference.
 *
 * @param {readonly Run[]} runs
 */
export function checksOf(runs) {
  return CHECKS.flatMap(({ first, second, metric, low, high, ...check }) => {
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
    return [{ ...check, first, second, values, difference, passed, runs: mine.length }];
  });
}

/** A relative difference in percent, with its sign. @param {number} share */
export const percent = (share) => `${share > 0 ? "+" : ""}${(100 * share).toFixed(1)} %`;

/** A table in Markdown. @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
export const table = (head, rows) =>
  [head, head.map((_, i) => (i === 0 ? "---" : "---:")), ...rows].map((row) => `| ${row.join(" | ")} |\n`).join("");
