#!/usr/bin/env node
/**
 * The primary comparisons of the study for each held-out domain by itself (docs/study.md, "Secondary outcomes"), from packed studies or sweeps'
 * folders:
 *
 *     node studies/rank-or-scale/domains.mjs results/study-pacs.nudge results/study-office31.nudge
 *
 * Differences in points of accuracy on the held-out domain as the mean over the second half of training, within trials, with Student's 95 % interval
 * over trials. There is no correction for the number of domains. The last column weights the domains by their numbers of pictures; in the comparisons
 * of the study all domains count the same.
 */
import { datasets } from "../../dist/data/datasets/index.js";
import { intervalPoints, signedPoints } from "../../dist/selection/signed-points.js";
import { summarizeTrials } from "../../dist/selection/trial-statistics.js";
import { datasetTitle } from "../../dist/settings/names.js";
import { COMPARISONS, lateAccuracy, runsOf, stop, table } from "./study.mjs";

const studies = process.argv.slice(2);
if (studies.length === 0) stop("domains: expected sweeps' folders or packed studies, such as results/study-pacs.nudge");

/** A mean with its interval. @param {readonly number[]} differences */
function text(differences) {
  const { mean, interval } = summarizeTrials(differences);
  if (!Number.isFinite(mean)) return "–";
  return `${signedPoints(mean, { decimals: 2 })} (${intervalPoints(interval, { decimals: 2 })})`;
}

for (const [i, study] of studies.entries()) {
  const runs = runsOf(study);
  const domains = [...new Set(runs.map(({ heldOut }) => heldOut))].sort();
  const published = domains.map(
    (domain) => datasets[runs[0].dataset]?.published?.domains.find(({ name }) => name === domain)?.count ?? Number.NaN,
  );
  const weights = published.map((count) => count / published.reduce((sum, each) => sum + each, 0));
  const rows = COMPARISONS.flatMap(({ name, first, second }) => {
    const [mine, others] = [first, second].map((method) => runs.filter((run) => run.method === method));
    if (mine.length === 0 || others.length === 0) return [];
    const byDomain = domains.map((domain) => {
      const pairs = mine
        .filter(({ heldOut }) => heldOut === domain)
        .flatMap((run) => {
          const pair = others.find(({ heldOut, trial }) => heldOut === domain && trial === run.trial);
          return pair ? [/** @type {const} */ ([run.trial, lateAccuracy(run) - lateAccuracy(pair)])] : [];
        });
      return new Map(pairs);
    });
    const [head, ...rest] = byDomain;
    const shared = [...head.keys()].filter((trial) => rest.every((differences) => differences.has(trial)));
    const weighted = shared.map((trial) =>
      byDomain.reduce((sum, differences, i) => sum + (weights[i] ?? Number.NaN) * (differences.get(trial) ?? 0), 0),
    );
    const cells = [...byDomain.map((differences) => [...differences.values()]), weighted].map(text);
    return [[`${name}: ${first} − ${second}`, datasetTitle(runs[0].dataset), ...cells]];
  });
  if (rows.length === 0) stop(`domains: ${study} has no finished runs of the compared methods`, 1);
  process.stdout.write(
    `${i > 0 ? "\n" : ""}${table(["comparison", "dataset", ...domains, "weighted by pictures"], rows)}`,
  );
}
