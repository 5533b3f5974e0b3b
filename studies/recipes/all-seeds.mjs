#!/usr/bin/env node
import { evaluatedRuns } from "../../dist/records/run.js";
/**
 * The rows of the study of recipes that have three seeds in each trial, as the mean over all of them, and what their ensembles and soups add to that mean:
 *
 *     node studies/recipes/all-seeds.mjs results/recipes-pacs.nudge
 *
 * `nudge report` shows the first seed of such a row, because a report has one run for each trial. An ensemble and a soup use all three, so the mean of
 * the three is what they must be compared with. Selected steps; paired by trial, with Student's 95 % interval over trials, without a correction.
 */
import { readResults } from "../../dist/report/read-results.js";
import { intervalPoints, signedPoints } from "../../dist/selection/signed-points.js";
import { trainingDomain } from "../../dist/selection/training-domain.js";
import { summarizeTrials } from "../../dist/selection/trial-statistics.js";
import { mean, stop, table } from "../rank-or-scale/study.mjs";

const SEEDS = 3;
/** The rows: title, penalties, whether the classifier is solved first, and the model of a run; the model of a combination is `ensemble` or `ensemble+swad`. */
const ROWS = [
  { title: "ERM-NU", penalties: "nuclear-norm", isHeadFirst: false, model: "current" },
  { title: "SWAD-NU", penalties: "nuclear-norm", isHeadFirst: false, model: "swad" },
  { title: "ERM [headFirst=true]", penalties: "", isHeadFirst: true, model: "current" },
  { title: "MA [headFirst=true]", penalties: "", isHeadFirst: true, model: "moving-average" },
  { title: "WiSE-FT [headFirst=true]", penalties: "", isHeadFirst: true, model: "wise-ft" },
];

const [study] = process.argv.slice(2);
if (!study) stop("all-seeds: expected a packed study or a sweep's folder, such as results/recipes-pacs.nudge");

const results = readResults([study]).stored.flatMap((run) => {
  const { regularizers, fixed, trialSeed, seed, testDomains, algorithm } = run.settings;
  const isHeadFirst = fixed?.headFirst === true;
  const about = {
    penalties: regularizers.map(({ id }) => id).join(),
    isHeadFirst,
    trial: trialSeed,
    seed,
    domain: testDomains[0],
  };
  if (algorithm !== "erm") return [];
  return evaluatedRuns(run).runs.map((each) => {
    const accuracy = trainingDomain.select([each], about.domain)?.test ?? Number.NaN;
    return { ...about, model: each.method.model, accuracy };
  });
});
const domains = [...new Set(results.map(({ domain }) => domain))].sort();
const trials = [...new Set(results.map(({ trial }) => trial))].sort();

/** The accuracy of each trial, as the mean over domains of the mean over runs. @param {(each: typeof results[number]) => boolean} isWanted @param {number} runs in a trial with a domain held out */
const ofTrials = (isWanted, runs) =>
  trials.map((trial) =>
    mean(
      domains.map((domain) => {
        const own = results.filter((each) => each.trial === trial && each.domain === domain && isWanted(each));
        return own.length === runs ? mean(own.map(({ accuracy }) => accuracy)) : Number.NaN;
      }),
    ),
  );

const percent = (/** @type {readonly number[]} */ values) => (100 * mean(values)).toFixed(1);
/** @param {readonly number[]} first @param {readonly number[]} second */
function difference(first, second) {
  const { mean: value, interval } = summarizeTrials(first.map((each, i) => each - second[i]));
  if (!Number.isFinite(value)) return "–";
  return `${signedPoints(value, { decimals: 2 })} (${intervalPoints(interval, { decimals: 2 })})`;
}

const rows = ROWS.map(({ title, penalties, isHeadFirst, model }) => {
  const isRow = (/** @type {typeof results[number]} */ each) =>
    each.penalties === penalties && each.isHeadFirst === isHeadFirst;
  const all = ofTrials((each) => isRow(each) && each.model === model, SEEDS);
  const firsts = ofTrials((each) => isRow(each) && each.model === model && each.seed === each.trial, 1);
  const combined = (/** @type {string} */ kind) =>
    ofTrials((each) => isRow(each) && each.model === (model === "current" ? kind : `${kind}+${model}`), 1);
  const differences = ["ensemble", "soup"].map((kind) => difference(combined(kind), all));
  return [title, percent(firsts), percent(all), ...differences];
});
process.stdout.write(table(["row", "first seed", "all three seeds", "ensemble − all seeds", "soup − all seeds"], rows));
