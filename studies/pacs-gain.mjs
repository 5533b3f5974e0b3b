#!/usr/bin/env node
/**
 * What all kept trials together say of the penalty on PACS with MobileNetV2: the differences of each study, and over all trials. Two studies have the same
 * trials 0 to 2 (splits and seeds) on pictures that were encoded differently, so these count once, as their mean.
 *
 *     node studies/pacs-gain.mjs
 *
 * At the selected step, and as the mean over the second half of training, which selects nothing; paired by trial, with Student's 95 % interval over trials.
 */
import { join } from "node:path";
import { evaluatedRuns } from "../dist/records/run.js";
import { readResults } from "../dist/report/read-results.js";
import { intervalPoints, signedPoints } from "../dist/selection/signed-points.js";
import { trainingDomain } from "../dist/selection/training-domain.js";
import { summarizeTrials } from "../dist/selection/trial-statistics.js";
import { mean, table, top } from "./rank-or-scale/study.mjs";

const STUDIES = [
  { pack: "pacs-mobilenet_v2", pictures: "original" },
  { pack: "recipes-pacs", pictures: "JPEG, quality 88" },
  { pack: "study-pacs", pictures: "JPEG, quality 88" },
];
const DOMAINS = ["art_painting", "cartoon", "photo", "sketch"];

/** @typedef {{ selected: number, late: number }} Outcome Accuracies of a run, or differences. */

/** The outcome of each run of ERM with or without NU in a pack, by model, penalty, trial and held-out domain: of several seeds the first. @param {string} pack */
function outcomesOf(pack) {
  /** @type {Map<string, Outcome>} */
  const outcomes = new Map();
  for (const run of readResults([join(top, "results", `${pack}.nudge`)]).stored) {
    const { algorithm, regularizers, trialSeed, seed, testDomains, combination, fixed } = run.settings;
    const penalties = regularizers.map(({ id }) => id).join();
    const isOther = combination !== undefined || fixed?.headFirst !== undefined || seed !== trialSeed;
    if (!run.done || algorithm !== "erm" || !["", "nuclear-norm"].includes(penalties) || isOther) continue;
    for (const evaluated of evaluatedRuns(run).runs) {
      const [domain] = testDomains;
      const half = (evaluated.evaluations.at(-1)?.step ?? 0) / 2;
      const late = evaluated.evaluations
        .filter(({ step }) => step >= half)
        .map(({ accuracy }) => accuracy.get(domain)?.in ?? Number.NaN);
      const selected = trainingDomain.select([evaluated], domain)?.test ?? Number.NaN;
      outcomes.set([evaluated.method.model, penalties, trialSeed, domain].join(), { selected, late: mean(late) });
    }
  }
  return outcomes;
}

/** The difference with and without NU in each trial that has all domains. @param {ReturnType<typeof outcomesOf>} outcomes @param {string} model @returns {Map<number, Outcome>} */
function gainsOf(outcomes, model) {
  const trials = Array.from({ length: 20 }, (_, trial) => trial);
  return new Map(
    trials.flatMap((trial) => {
      const of = (/** @type {string} */ penalty) =>
        DOMAINS.map((domain) => outcomes.get([model, penalty, trial, domain].join()));
      const [plain, penalised] = [of(""), of("nuclear-norm")];
      if ([...plain, ...penalised].includes(undefined)) return [];
      const gain = (/** @type {"selected" | "late"} */ key) =>
        mean(DOMAINS.map((_, i) => (penalised[i]?.[key] ?? 0) - (plain[i]?.[key] ?? 0)));
      return [[trial, { selected: gain("selected"), late: gain("late") }]];
    }),
  );
}

/** @param {readonly number[]} values */
function text(values) {
  const { mean, interval } = summarizeTrials(values);
  return `${signedPoints(mean)} (${intervalPoints(interval)})`;
}

const studies = STUDIES.map((study) => ({ ...study, outcomes: outcomesOf(study.pack) }));
const rows = [
  { title: "ERM-NU − ERM", model: "current" },
  { title: "SWAD-NU − SWAD", model: "swad" },
].flatMap(({ title, model }) => {
  const gains = studies
    .map(({ outcomes, ...study }) => ({ ...study, gains: gainsOf(outcomes, model) }))
    .filter(({ gains }) => gains.size > 0);
  // SWAD's average is one model, and no step is selected.
  const cells = (/** @type {Outcome[]} */ each) => [
    text(each.map(({ selected }) => selected)),
    model === "current" ? text(each.map(({ late }) => late)) : "–",
  ];
  const range = (/** @type {number[]} */ trials) => `${Math.min(...trials)} to ${Math.max(...trials)}`;
  const trials = [...new Set(gains.flatMap(({ gains }) => [...gains.keys()]))].sort((a, b) => a - b);
  const together = trials.map((trial) => {
    const own = gains.flatMap(({ gains }) => gains.get(trial) ?? []);
    return { selected: mean(own.map(({ selected }) => selected)), late: mean(own.map(({ late }) => late)) };
  });
  return [
    ...gains.map(({ pack, pictures, gains }) => [
      title,
      `\`${pack}\``,
      pictures,
      range([...gains.keys()]),
      ...cells([...gains.values()]),
    ]),
    [title, "**all trials**", "both", range(trials), ...cells(together)],
  ];
});
process.stdout.write(
  table(["difference", "study", "pictures", "trials", "selected step", "second half of training"], rows),
);
