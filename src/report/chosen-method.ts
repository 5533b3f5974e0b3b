/**
 * The row of a table that no single method makes: in each trial, with each domain held out, the method whose validation
 * accuracy is highest. This is what a user gets who tries all methods and cannot see the held-out domain; the best row of
 * a table is chosen by hindsight. The row is made of the chosen runs, so that tables, paired differences and files have it
 * like any other.
 */

import { UsageError } from "../errors.js";
import { groupBy } from "../group-by.js";
import { commonFixed } from "../records/fixed-settings.js";
import { type EvaluatedRun, type Method, methodKey } from "../records/index.js";
import { type GroupResult, type SelectionMethod, selectGroups } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "../settings/names.js";
import type { Results } from "./read-results.js";
import { rowTitles } from "./row-titles.js";

/** The name of the row. */
export const CHOSEN_METHOD = "Chosen by validation";

/** The results with the row, and with notes on what was chosen. */
export function withChosenMethod(results: Results, selection: SelectionMethod): Results {
  if (selection.id === "oracle")
    throw new UsageError("--choose: the oracle selects on the held-out domain; use another --selection");
  const found = selectGroups(results.runs, selection);
  const own = results.runs.filter(({ format }) => format === "nudge");
  const fixed = commonFixed(new Set(own.map(({ method }) => method.fixed)));
  const methods = new Map(results.runs.map(({ method }) => [methodKey(method), method]));
  const titles = rowTitles([...methods.values()], fixed, new Set());
  // As another model, like an average, because it has no training of its own.
  const method: Method = { algorithm: "erm", regularizers: [], model: CHOSEN_METHOD, fixed };
  const best = [...groupBy(found, cellKey).values()].map(highest);
  const titleOf = (each: GroupResult): string => titles.get(methodKey(each.method))!;
  const datasets = [...new Set(found.map(({ dataset }) => dataset))];
  return {
    ...results,
    runs: [...results.runs, ...best.map((each) => runOf(each, method))],
    notes: [
      ...results.notes,
      ...datasets.map((dataset) => {
        const isHere = (each: GroupResult): boolean => each.dataset === dataset;
        return choiceWords(dataset, { best: best.filter(isHere), all: found.filter(isHere), titleOf });
      }),
    ],
  };
}

const cellKey = ({ dataset, testDomain, trialSeed }: GroupResult): string =>
  JSON.stringify([dataset, testDomain, trialSeed]);

/** The result with the highest validation accuracy, or the first of several equal ones. */
const highest = (results: readonly GroupResult[]): GroupResult =>
  results.reduce((best, each) => (each.choice.validation > best.choice.validation ? each : best));

/** A run that has only the chosen evaluation. */
function runOf({ dataset, testDomain, trialSeed, hparamsSeed, choice }: GroupResult, method: Method): EvaluatedRun {
  const { source, format, domains, method: chosenFrom, hparams, evaluations } = choice.run;
  return {
    ...{ source, format, dataset, domains, testDomains: [testDomain], method, chosenFrom, trialSeed, hparamsSeed },
    ...(hparams && { hparams }),
    evaluations: evaluations.filter(({ step }) => step === choice.step).slice(0, 1),
  };
}

/** Says how often each method was chosen, and which one is best if one method is chosen for the whole dataset. */
function choiceWords(
  dataset: string,
  {
    best,
    all,
    titleOf,
  }: { best: readonly GroupResult[]; all: readonly GroupResult[]; titleOf: (each: GroupResult) => string },
): string {
  const counts = new Map<string, number>();
  for (const each of best) counts.set(titleOf(each), (counts.get(titleOf(each)) ?? 0) + 1);
  const often = [...counts].sort(([, a], [, b]) => b - a).map(([title, count]) => `${title} ${count}`);
  const byMethod = groupBy(all, (each) => methodKey(each.method));
  const complete = [...byMethod.values()].filter(({ length }) => length === best.length);
  const averages = complete.map((results) => ({
    title: titleOf(results[0]),
    validation: mean(results.map(({ choice }) => choice.validation)),
    test: mean(results.map(({ choice }) => choice.test)),
  }));
  const percent = (value: number): string => (100 * value).toFixed(1);
  const one = averages.reduce<(typeof averages)[number] | undefined>(
    (top, each) => (top && top.validation >= each.validation ? top : each),
    undefined,
  );
  const whole = one
    ? ` If one method is chosen for all, ${one.title} has the highest mean validation accuracy (${percent(one.validation)} %); its mean accuracy on held-out domains is ${percent(one.test)} %.`
    : "";
  return `${datasetTitle(dataset)}, ${CHOSEN_METHOD}: how often each method was chosen in ${best.length} cells and trials: ${often.join(", ")}.${whole}`;
}
