#!/usr/bin/env node
/**
 * The primary comparisons of the study with their verdicts (docs/study.md, "Outcome and analysis" and "What would count"), from packed studies or
 * sweeps' folders:
 *
 *     node studies/rank-or-scale/result.mjs results/study-pacs.nudge results/study-office31.nudge
 *     node studies/rank-or-scale/result.mjs results/study-pacs.nudge --figure result.svg      also draws them
 *
 * The numbers are those of `nudge report --equivalence 0.5` over the second half of training; only equivalence is read by its 90 % interval, without
 * Holm's correction. A comparison whose check failed has a verdict in brackets and is not counted. Nothing is printed before every comparison has its planned number of trials.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { verdictOf } from "../../dist/report/equivalence.js";
import { equivalenceFigure } from "../../dist/report/equivalence-figure.js";
import { intervalPoints, signedPoints } from "../../dist/selection/signed-points.js";
import { datasetTitle } from "../../dist/settings/names.js";
import { COMPARISONS, checksOf, MARGIN, percent, reportOn, runsOf, stop, table, withoutSettings } from "./study.mjs";

/** The planned numbers of trials of a dataset or of one of its comparisons; others have five. @type {Record<string, number>} */
const TRIALS = { "pacs P3": 14, "misleading-shapes": 10 };

const { positionals: studies, values } = parseArgs({ allowPositionals: true, options: { figure: { type: "string" } } });
if (studies.length === 0) stop("result: expected sweeps' folders or packed studies, such as results/study-pacs.nudge");

/** The tested comparisons of a study. @param {string} study */
function tested(study) {
  const runs = runsOf(study);
  const checks = checksOf(runs);
  const trialsOf = (/** @type {string} */ method) => [
    ...new Set(runs.filter((run) => run.method === method).map(({ trial }) => trial)),
  ];
  const comparisons = COMPARISONS.filter(({ first, second }) => trialsOf(first).length * trialsOf(second).length > 0);
  if (comparisons.length === 0) stop(`result: ${study} has no finished runs of the compared methods`, 1);
  const [{ dataset }] = runs;
  const { rows } = reportOn(study, comparisons, ["--only", "pairs", "--equivalence", String(MARGIN)]).equivalence;
  return comparisons.map(({ name, first, second }) => {
    const row = rows.find(
      (/** @type {any} */ each) =>
        each.outcome === "second half of training" &&
        withoutSettings(each.first) === first &&
        withoutSettings(each.second) === second,
    );
    const planned = TRIALS[`${dataset} ${name}`] ?? TRIALS[dataset] ?? 5;
    if (!row || row.trials < planned)
      stop(`result: ${study}: ${name} has ${row?.trials ?? 0} of ${planned} trials, so no mean is printed yet`, 1);
    const check = checks.find((each) => each.name === name);
    // By the design, superiority is read after Holm's correction, and equivalence by its 90 % interval.
    const verdict = verdictOf(row.mean, row.superiority.corrected, row.inside ? row.p : 1);
    return { ...row, verdict, name, first, second, dataset, check, counted: check?.passed ?? true };
  });
}

const probability = (/** @type {number} */ p) => (p < 0.001 ? "< 0.001" : p.toFixed(3));

const all = studies.map(tested);
if (values.figure !== undefined) {
  const rows = all.flat().map(({ name, first, second, counted, ...row }) => {
    return { ...row, first: `${name}: ${first}`, second: counted ? second : `${second} (not counted)` };
  });
  writeFileSync(values.figure, equivalenceFigure({ margin: MARGIN / 100, rows }) ?? "");
}
process.stdout.write(
  table(
    [
      ...["comparison", "dataset", "difference", "verdict", "95 % interval", "p, Holm", "90 % interval"],
      ...[`p ±${MARGIN}, Holm`, "trials", "check"],
    ],
    all
      .flat()
      .map(({ name, first, second, check, counted, verdict, superiority, ...row }) => [
        ...[`${name}: ${first} − ${second}`, datasetTitle(row.dataset), signedPoints(row.mean, { decimals: 2 })],
        counted ? verdict : `(${verdict})`,
        ...[intervalPoints(superiority.interval, { decimals: 2 }), probability(superiority.corrected)],
        ...[intervalPoints(row.interval, { decimals: 2 }), probability(row.corrected), String(row.trials)],
        check ? `${check.label} ${percent(check.difference)}${check.passed ? "" : ", failed"}` : "–",
      ]),
  ),
);

/** Whether a comparison of a study is counted and has one of these verdicts. @param {readonly any[]} rows @param {string} name @param {readonly string[]} verdicts */
const is = (rows, name, ...verdicts) =>
  rows.some(
    (row) => row.name === name && row.counted && verdicts.some((each) => row.verdict.split(", ").includes(each)),
  );

for (const rows of all) {
  const names = rows.map(({ name }) => name);
  if (!["P1", "P2", "P3", "P4"].every((name) => names.includes(name))) continue;
  const second = rows.find(({ name }) => name === "P2");
  const lower = !is(rows, "P2", "equivalent") && second.counted && second.mean < 0;
  const rank = (is(rows, "P3", "superior") || is(rows, "P4", "superior")) && lower;
  const atMostEqual = ["P3", "P4"].every((name) => is(rows, name, "equivalent", "inferior"));
  const scale = is(rows, "P1", "superior") && is(rows, "P2", "equivalent") && atMostEqual;
  const met = rank
    ? "the rule for rank"
    : scale
      ? "the rule for scale"
      : "neither the rule for rank nor the rule for scale";
  process.stdout.write(`\nThe result on ${datasetTitle(rows[0].dataset)} meets ${met} of the design.\n`);
}
