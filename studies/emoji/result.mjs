#!/usr/bin/env node
/**
 * The result of the study on emoji (docs/study-emoji.md), from a sweep's folder or a packed study:
 *
 *     node studies/emoji/result.mjs results/study-emoji.nudge
 *     node studies/emoji/result.mjs sweeps/study-emoji-resnet50 --trials 3      the secondary runs: differences without a verdict
 *     node studies/emoji/result.mjs sweeps/study-emoji --without-fro            if the scale of FRO was not matched
 *
 * No mean is printed before every planned run is finished.
 */
import { parseArgs } from "node:util";
import { openStudy } from "../../dist/pack/study.js";
import { readResults } from "../../dist/report/read-results.js";
import { intervalPoints, signedPoints } from "../../dist/selection/signed-points.js";
import { holmOfRows, SIGNIFICANT, summarizeTrials } from "../../dist/selection/trial-statistics.js";
import { power } from "../power.mjs";
import { mean, percent, stop, table } from "../rank-or-scale/study.mjs";
import { COMPARISONS, HELD_OUT, SMALLEST_EFFECT, TRIALS, usesFro } from "./design.mjs";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { trials: { type: "string" }, "without-fro": { type: "boolean", default: false } },
});
const [study] = positionals;
if (!study) stop("result: expected a sweep's folder or a packed study, such as results/study-emoji.nudge");
const isSecondary = values.trials !== undefined;
const trials = isSecondary ? TRIALS.slice(0, Number(values.trials)) : TRIALS;
const comparisons = COMPARISONS.filter((pair) => !((values["without-fro"] || isSecondary) && usesFro(pair)));
const methods = [...new Set(comparisons.flatMap(({ first, second }) => [first, second]))];
const styles = HELD_OUT;

const PENALTIES = { "nuclear-norm": "NU", "frobenius-norm": "FRO" };

/**
 * What a run says of a method: of the trained weights the means over the second half of training, of SWAD's average its only row.
 *
 * @typedef {{ method: string, trial: number, style: string, fresh: number, known: number, norm: number }} Cell
 * @param {import("../../dist/records/run.js").StoredRun} run
 * @returns {Cell[]}
 */
function cellsOf({ settings, records }) {
  const { trialSeed: trial, regularizers, testDomains } = settings;
  const [style] = testDomains;
  const half = Math.max(...records.map(({ step }) => step)) / 2;
  return [
    ["ERM", "current"],
    ["SWAD", "swad"],
  ].flatMap(([title, model]) => {
    const late = records.filter((row) => row.model === model && row.step >= half);
    const of = (/** @type {(row: typeof late[number]) => boolean} */ wanted) =>
      mean(late.filter(wanted).map(({ value }) => value));
    if (late.length === 0) return [];
    const accuracy = (/** @type {string} */ split) =>
      of((row) => row.metric === "accuracy" && row.domain === style && row.split === split);
    const penalties = regularizers.map(({ id }) => PENALTIES[/** @type {keyof typeof PENALTIES} */ (id)] ?? id);
    const norm = of((row) => row.metric === "frobeniusNorm" && row.domain === null && row.split !== "in");
    const method = [title, ...penalties].join("-");
    return [{ method, trial, style, fresh: accuracy("in"), known: accuracy("out"), norm }];
  });
}

const cells = readResults([study])
  .stored.filter(({ done }) => done)
  .flatMap(cellsOf);

/** The cell of a method in a trial with a style held out. @param {string} method @param {number} trial @param {string} style */
const cellOf = (method, trial, style) =>
  cells.find((each) => each.method === method && each.trial === trial && each.style === style);

const missing = methods.flatMap((method) =>
  trials.flatMap((trial) =>
    styles.filter((style) => !cellOf(method, trial, style)).map((style) => `${method} ${trial} ${style}`),
  ),
);
if (missing.length > 0)
  stop(
    `result: ${missing.length} of ${methods.length * trials.length * styles.length} results are missing, such as ${missing[0]}, so no mean is printed yet`,
    1,
  );

/** A measure of each trial, as the mean over styles. @param {string} method @param {"fresh" | "known" | "norm"} measure @param {readonly string[]} over */
const ofTrials = (method, measure, over = styles) =>
  trials.map((trial) => mean(over.map((style) => cellOf(method, trial, style)?.[measure] ?? Number.NaN)));

/** The differences of trials. @param {{ first: string, second: string }} pair @param {"fresh" | "known"} measure @param {readonly string[]} [over] */
function differences({ first, second }, measure, over) {
  const others = ofTrials(second, measure, over);
  return summarizeTrials(ofTrials(first, measure, over).map((value, i) => value - others[i]));
}

const signed = (/** @type {number} */ value, /** @type {number} */ decimals) => signedPoints(value, { decimals });
const intervalText = (/** @type {readonly [number, number] | null} */ interval) =>
  intervalPoints(interval, { decimals: 2 });
const inPercent = (/** @type {number} */ value) => (100 * value).toFixed(1);
const write = (/** @type {string} */ text) => process.stdout.write(text);

write("Accuracy in percent in the held-out style, mean over trials: new emoji, and emoji that were trained on.\n\n");
write(
  table(
    ["method", ...styles, "average, new emoji", "average, known emoji"],
    methods.map((method) => [
      method,
      ...styles.map((style) => inPercent(mean(ofTrials(method, "fresh", [style])))),
      ...[inPercent(mean(ofTrials(method, "fresh"))), inPercent(mean(ofTrials(method, "known")))],
    ]),
  ),
);

const rows = comparisons.map((pair) => ({ ...pair, ...differences(pair, "fresh") }));
const [primary, ...others] = rows;
const corrected = holmOfRows(
  others,
  others.map(({ p }) => p),
);
const scale = methods.includes("ERM-FRO")
  ? mean(ofTrials("ERM-FRO", "norm")) / mean(ofTrials("ERM-NU", "norm")) - 1
  : 0;
const isMatched = Math.abs(scale) <= 0.05;
const shown = (/** @type {number | null} */ p) => (p === null ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3));
/** The verdict of a comparison from its p-value, which was corrected if there are several. @param {number} value @param {number | null} p */
const verdictOf = (value, p) => (p === null || p >= SIGNIFICANT ? "undecided" : value > 0 ? "superior" : "inferior");

write(
  "\nDifferences on new emoji in the new style, in points, paired by trial, with Student's interval over trials.\n\n",
);
write(
  table(
    ["comparison", "difference", "95 % interval", "p", ...(isSecondary ? [] : ["p, Holm", "verdict"]), ...styles],
    rows.map((row, i) => {
      const p = i === 0 ? row.p : corrected[i - 1];
      const verdict =
        i === 0
          ? { superior: "supported", inferior: "contradicted", undecided: "undecided" }[verdictOf(row.mean, p)]
          : verdictOf(row.mean, p);
      const counted = isMatched || !usesFro(row) ? verdict : `(${verdict})`;
      return [
        ...[`${row.first} − ${row.second}`, signed(row.mean, 2), intervalText(row.interval), shown(row.p)],
        ...(isSecondary ? [] : [i === 0 ? "primary" : shown(p), counted]),
        ...styles.map((style) => signed(differences(row, "fresh", [style]).mean, 1)),
      ];
    }),
  ),
);
if (methods.includes("ERM-FRO"))
  write(
    `\n‖F‖_F of ERM-FRO is ${percent(scale)} beside that of ERM-NU; within ±5 % is needed: ${isMatched ? "passed" : "failed, so its comparisons are not counted"}.\n`,
  );
const deviation = (primary.error ?? Number.NaN) * Math.sqrt(primary.trials);
const found = power({ difference: SMALLEST_EFFECT, deviation, trials: primary.trials });
write(
  `\nA trial's difference ERM-NU − ERM has a standard deviation of ${(100 * deviation).toFixed(2)} points. At this deviation, ${primary.trials} trials find an effect of 1.0 point with a power of ${(100 * found).toFixed(0)} %.\n`,
);
const known = differences(comparisons[0], "known");
write(`On emoji that were trained on, in the new style: ${signed(known.mean, 2)} (${intervalText(known.interval)}).\n`);
const commits = new Set(
  openStudy([study]).runs.map(
    ({ files }) => JSON.parse(files.text("environment.json") ?? "{}").commit ?? "not recorded",
  ),
);
write(`Commits of the program: ${[...commits].sort().join(", ")}.\n`);
