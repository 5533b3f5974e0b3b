#!/usr/bin/env node
/**
 * What the methods of the study do to features and logits (docs/study.md, "Secondary outcomes"), from packed studies or sweeps' folders:
 *
 *     node studies/rank-or-scale/measures.mjs results/study-pacs.nudge results/study-office31.nudge
 *
 * Each measure is the mean over the evaluations of the second half of training, on validation pictures of the training domains, and over the
 * held-out domains and the trials that all methods of a study have. No accuracy is read or printed.
 */
import { datasetTitle } from "../../dist/settings/names.js";
import { lateMeasure, mean, runsOf, stop, table } from "./study.mjs";

/** By metric, the heading of its column. */
const MEASURES = {
  frobeniusNorm: "‖F‖_F",
  nuclearNorm: "‖F‖_\\*",
  stableRank: "stable rank",
  centredStableRank: "centred stable rank",
  effectiveRank: "effective rank",
  centredEffectiveRank: "centred effective rank",
  logitsFrobeniusNorm: "‖logits‖_F",
  logitsEffectiveRank: "effective rank of logits",
  headNorm: "norm of the head",
  softmaxEntropy: "entropy of predictions",
  sharpness: "sharpness",
};

const studies = process.argv.slice(2);
if (studies.length === 0)
  stop("measures: expected sweeps' folders or packed studies, such as results/study-pacs.nudge");

const rows = studies.flatMap((study) => {
  const runs = runsOf(study);
  const methods = [...new Set(runs.map(({ method }) => method))].sort();
  const has = (/** @type {string} */ method, /** @type {number} */ trial) =>
    runs.some((run) => run.method === method && run.trial === trial);
  const shared = runs.filter(({ trial }) => methods.every((method) => has(method, trial)));
  if (shared.length === 0) stop(`measures: ${study} has no trial with finished runs of all its methods`, 1);
  return methods.map((method) => {
    const own = shared.filter((run) => run.method === method);
    const values = Object.keys(MEASURES).map((metric) => mean(own.map((run) => lateMeasure(run, metric))));
    const texts = values.map((value) => (Number.isFinite(value) ? Number(value.toPrecision(3)).toString() : "–"));
    return [method, datasetTitle(own[0].dataset), ...texts, String(own.length)];
  });
});
process.stdout.write(table(["method", "dataset", ...Object.values(MEASURES), "runs"], rows));
