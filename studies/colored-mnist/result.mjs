#!/usr/bin/env node
/**
 * DomainBed's table of ColoredMNIST beside the published one, cell by cell, by training-domain validation and by the oracle, from a sweep's folder or a packed
 * study (docs/results/colored-mnist.md):
 *
 *     node studies/colored-mnist/result.mjs results/colored-mnist.nudge
 *     node studies/colored-mnist/result.mjs sweeps/colored-mnist --figure agreement.svg      also draws the differences
 *
 * A cell has 20 draws in each of 3 trials. It is compared when it is complete; before, it shows what is there. A run whose loss stops being finite stops here. At
 * the commit of the table it continues and predicts the first class, so its accuracy is that of the first class, about 50 %: it is counted as 50 % on every domain.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { openStudy } from "../../dist/pack/study.js";
import { evaluatedRuns, readRun } from "../../dist/records/run.js";
import { drawDifferences } from "../../dist/report/difference-chart.js";
import { rankHparams } from "../../dist/selection/across-hparams.js";
import { oracle } from "../../dist/selection/oracle.js";
import { trainingDomain } from "../../dist/selection/training-domain.js";
import { mean, stop, table } from "../rank-or-scale/study.mjs";
import {
  ABOVE_ERM,
  ALGORITHMS,
  agreement,
  DOMAINS,
  DRAWS,
  MOST_DISAGREEING,
  published,
  SELECTIONS,
  TRIALS,
} from "./table.mjs";

const { positionals, values } = parseArgs({ allowPositionals: true, options: { figure: { type: "string" } } });
const [study] = positionals;
if (!study) stop("result: expected a sweep's folder or a packed study, such as results/colored-mnist.nudge");

const METHODS = { "training-domain": trainingDomain, oracle };

/** The finished runs, and those that diverged, with 50 % everywhere. */
function runsOfStudy() {
  const diverged = [];
  const finished = [];
  for (const { files } of openStudy([study]).runs) {
    const run = readRun(files);
    if (run.done) finished.push(...evaluatedRuns(run).runs.filter(({ method }) => method.model === "current"));
    else if (files.has("failure/failure.json")) {
      const { domains, testDomains, trialSeed, hparamsSeed, algorithm } = run.settings;
      const accuracy = new Map(domains.map((domain) => [domain, { in: 0.5, out: 0.5 }]));
      const method = { algorithm, regularizers: [], model: "current", fixed: {} };
      const last = [{ step: 5000, accuracy }];
      diverged.push({
        ...{ source: run.folder, format: "nudge", dataset: "colored-mnist" },
        ...{ domains, testDomains, method, trialSeed, hparamsSeed, evaluations: last },
      });
    }
  }
  return { finished, diverged };
}

const { finished, diverged } = runsOfStudy();
const runs = [...finished, .../** @type {typeof finished} */ (diverged)];

/** The accuracies of a cell by trial, in percent, and the number of its runs. @param {"training-domain" | "oracle"} selection @param {string} title @param {string} testDomain */
function cellOf(selection, title, testDomain) {
  const own = runs.filter(
    ({ method, testDomains }) => method.algorithm === ALGORITHMS[title] && testDomains.join() === testDomain,
  );
  const chosen = TRIALS.flatMap((trial) => {
    const [best] = rankHparams(
      { runs: own.filter(({ trialSeed }) => trialSeed === trial), testDomain },
      METHODS[selection],
    );
    return best ? [100 * best.choice.test] : [];
  });
  const centre = mean(chosen);
  // DomainBed prints the population's deviation over √trials.
  const se = Math.sqrt(mean(chosen.map((value) => (value - centre) ** 2)) / chosen.length);
  return { mean: centre, se, runs: own.length, isComplete: own.length === TRIALS.length * DRAWS.length };
}

const write = (/** @type {string} */ text) => process.stdout.write(text);
const text = (/** @type {{ mean: number, se: number }} */ cell) => `${cell.mean.toFixed(1)} ± ${cell.se.toFixed(1)}`;
const signed = (/** @type {number} */ value) => `${value > 0 ? "+" : ""}${value.toFixed(1)}`;
const titles = Object.keys(ALGORITHMS).filter((title) =>
  runs.some(({ method }) => method.algorithm === ALGORITHMS[title]),
);
if (titles.length === 0) stop(`result: ${study} has no finished runs of ColoredMNIST`, 1);

/** @type {import("../../dist/report/difference-chart.js").DifferenceRow[]} */
const drawn = [];
for (const selection of /** @type {("training-domain" | "oracle")[]} */ (Object.keys(SELECTIONS))) {
  const counts = { compared: 0, disagree: /** @type {string[]} */ ([]) };
  const rows = titles.map((title) => {
    const cells = DOMAINS.map((domain) => {
      const cell = cellOf(selection, title, domain);
      const other = published(selection, title, domain);
      if (cell.runs === 0) return `– (${text(other)})`;
      if (!cell.isComplete)
        return `${cell.mean.toFixed(1)} (${text(other)}), ${cell.runs} of ${TRIALS.length * DRAWS.length} runs`;
      const { difference, allowed, agrees } = agreement(cell, other);
      counts.compared++;
      if (!agrees) counts.disagree.push(`${title} ${domain}`);
      drawn.push({
        ...{ title: `${title} ${domain}, ${selection}`, bold: !agrees },
        marks: [
          {
            mean: difference / 100,
            interval: [-allowed / 100, allowed / 100],
            inner: null,
            color: agrees ? "#4477aa" : "#ee6677",
          },
        ],
      });
      return `${text(cell)} (${text(other)}) ${signed(difference)}, ±${allowed.toFixed(1)}: ${agrees ? "agrees" : "**disagrees**"}`;
    });
    return [title, ...cells];
  });
  write(
    `\n### Selection: ${SELECTIONS[selection]}\n\nOurs, in brackets published, the difference, and the largest difference that agrees.\n\n`,
  );
  write(table(["algorithm", ...DOMAINS], rows));
  const verdict = counts.disagree.length > MOST_DISAGREEING ? "the tables disagree" : "the tables do not disagree";
  write(
    counts.compared === 0
      ? "\nNo cell is complete yet.\n"
      : `\n${counts.disagree.length} of ${counts.compared} complete cells disagree${counts.disagree.length > 0 ? ` (${counts.disagree.join(", ")})` : ""}: ${verdict}.\n`,
  );
}

const { algorithms, domain, selection, points } = ABOVE_ERM;
const rule = /** @type {"oracle"} */ (selection);
const base = cellOf(rule, "ERM", domain);
write(`\n### The second rule: at least ${points} points above ERM on ${domain}, ${SELECTIONS[selection]}\n\n`);
write(
  table(
    ["algorithm", "above ERM", "published", "verdict"],
    algorithms.map((title) => {
      const cell = cellOf(rule, title, domain);
      const other = published(selection, title, domain).mean - published(selection, "ERM", domain).mean;
      const above = cell.mean - base.mean;
      const isKnown = cell.runs > 0 && base.runs > 0;
      const verdict = above >= points ? "met" : "not met";
      const isComplete = cell.isComplete && base.isComplete;
      return [
        title,
        isKnown ? signed(above) : "–",
        signed(other),
        isKnown ? `${verdict}${isComplete ? "" : " so far"}` : "–",
      ];
    }),
  ),
);
write(
  `\n${finished.length} finished runs${diverged.length > 0 ? `; ${diverged.length} diverged and are counted as 50 %` : ""}.\n`,
);
if (values.figure !== undefined && drawn.length > 0)
  writeFileSync(
    values.figure,
    drawDifferences({
      heading: "Ours − published, points of accuracy",
      rows: drawn,
      words: ["line: the differences that agree"],
      legend: [],
    }),
  );
