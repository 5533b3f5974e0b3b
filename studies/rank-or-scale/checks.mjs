#!/usr/bin/env node
/**
 * The checks that decide whether a comparison of the study may be read (docs/study.md, "What would count"), from packed studies or
 * sweeps' folders:
 *
 *     node studies/rank-or-scale/checks.mjs results/study-pacs.nudge results/study-office31.nudge
 *
 * Studies on one dataset with one backbone are read together, so that block 1 and the controls of block 3 are compared. Each measure is the mean over the evaluations of the second half of training, on validation pictures of the training domains, and over the
 * trials and held-out domains that both methods have. No accuracy is read or printed.
 */
import { datasetTitle } from "../../dist/settings/names.js";
import { checksOf, percent, runsOf, stop, table } from "./study.mjs";

const studies = process.argv.slice(2);
if (studies.length === 0) stop("checks: expected sweeps' folders or packed studies, such as results/study-pacs.nudge");

const all = studies.flatMap(runsOf);
const kinds = [...new Set(all.map(({ dataset, backbone }) => `${dataset} ${backbone}`))];
const rows = kinds.flatMap((kind) => {
  const runs = all.filter(({ dataset, backbone }) => `${dataset} ${backbone}` === kind);
  return checksOf(runs).map(({ name, label, first, second, values, difference, needed, passed, runs: count }) => [
    ...[datasetTitle(runs[0].dataset), name, label],
    ...[first, second].map((method, i) => `${method} ${values[i].toFixed(1)}`),
    ...[percent(difference), needed, String(count), passed ? "passed" : "failed"],
  ]);
});
if (rows.length === 0) stop("checks: no study has finished runs of the compared methods", 1);
const head = [
  "dataset",
  "check of",
  "measure",
  "first",
  "second",
  "relative difference",
  "needed",
  "runs of each",
  "verdict",
];
process.stdout.write(table(head, rows));
