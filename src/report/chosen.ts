/**
 * What model selection chose: for each cell and trial the run, the step, the draw and its hyperparameters, with the
 * accuracies; and for each method on a dataset the draw with the best accuracy over all held-out domains, which is the
 * one to use again.
 */

import { groupBy } from "../group-by.js";
import { methodKey } from "../records/index.js";
import type { GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "../settings/names.js";
import { drawsOf, type Hparams, hparamsOf, searchedNames, valueText } from "./draws.js";
import type { Outcome, ReportedMethod } from "./outcome.js";
import type { TextTable } from "./text-table.js";

/** One trial of one cell. Accuracies are fractions. */
export interface Chosen {
  readonly dataset: string;
  /** As `methodKey` writes it, and as tables print it. */
  readonly method: string;
  readonly title: string;
  readonly domain: string;
  readonly trial: number;
  /** The folder or file of the run. */
  readonly run: string;
  readonly step: number;
  /** The number of the draw of hyperparameters; 0 is the defaults. */
  readonly draw: number;
  readonly hparams: Hparams;
  /** The accuracy used for selection, and the reported one. */
  readonly validation: number;
  readonly test: number;
}

/** Every cell and trial, in the order of the tables. */
export function chosenOf(outcome: Outcome): Chosen[] {
  return outcome.datasets.flatMap((dataset) =>
    outcome.methods.flatMap((method) => {
      const results = outcome.resultsOf(method.key, dataset);
      return outcome
        .domainsOf(dataset)
        .flatMap((domain) => results.filter(({ testDomain }) => testDomain === domain).sort(byTrial))
        .map((result) => toChosen(outcome, method, result));
    }),
  );
}

const byTrial = (a: GroupResult, b: GroupResult): number => a.trialSeed - b.trialSeed;

function toChosen(outcome: Outcome, { key, title }: ReportedMethod, result: GroupResult): Chosen {
  const { dataset, testDomain: domain, trialSeed: trial, hparamsSeed: draw, choice } = result;
  const { run, step, validation, test } = choice;
  const hparams = hparamsOf(outcome, run);
  return { dataset, method: key, title, domain, trial, run: run.source, step, draw, hparams, validation, test };
}

/** A draw over all held-out domains of a trial. Accuracies are means over them. */
export interface BestDraw extends Pick<Chosen, "dataset" | "method" | "title" | "trial" | "draw" | "hparams"> {
  /** Names of the searched hyperparameters. */
  readonly searched: readonly string[];
  readonly draws: number;
  readonly domains: number;
  readonly validation: number;
  readonly test: number;
}

/** For each method on each dataset the draw with the highest mean validation accuracy over the held-out domains of its trial. */
export function bestDraws(outcome: Outcome): BestDraw[] {
  const byRow = groupBy(drawsOf(outcome), ({ dataset, method }) => JSON.stringify([dataset, methodKey(method)]));
  return outcome.datasets.flatMap((dataset) =>
    outcome.methods.flatMap(({ key: method, title, method: row }): BestDraw[] => {
      const draws = byRow.get(JSON.stringify([dataset, method])) ?? [];
      const together = [...groupBy(draws, ({ trialSeed, hparamsSeed }) => `${trialSeed} ${hparamsSeed}`).values()];
      const domains = Math.max(0, ...together.map(({ length }) => length));
      const whole = together
        .filter(({ length }) => length === domains) // a mean over fewer domains is not comparable
        .map((results) => ({ results, validation: mean(results.map(({ choice }) => choice.validation)) }))
        .filter(({ validation }) => Number.isFinite(validation));
      if (whole.length === 0) return [];
      const { results, validation } = whole.reduce((best, each) => (each.validation > best.validation ? each : best));
      const [{ trialSeed: trial, hparamsSeed: draw, choice }] = results;
      const all = outcome.runsOf(method, dataset).map((run) => hparamsOf(outcome, run));
      const searched = searchedNames(all, row);
      const found = { dataset, method, title, trial, draw, hparams: hparamsOf(outcome, choice.run), searched };
      return [
        { ...found, draws: whole.length, domains, validation, test: mean(results.map((each) => each.choice.test)) },
      ];
    }),
  );
}

/** The selection as tables of texts: the best hyperparameters of each method on a dataset, then every cell and trial. */
export function chosenTables(outcome: Outcome, best: readonly BestDraw[]): TextTable[] {
  const chosen = chosenOf(outcome);
  return outcome.datasets.flatMap((dataset) => {
    const own = best.filter((each) => each.dataset === dataset);
    if (own.length === 0) return [];
    const searched = new Map(own.map((each) => [each.method, each.searched]));
    const cells = chosen.filter((each) => each.dataset === dataset);
    const title = datasetTitle(dataset);
    return [
      {
        title: `Best hyperparameters on ${title}`,
        words: [
          "For each method, the draw with the highest mean validation accuracy over the held-out domains of its trial, with its mean test accuracy. draws: the number of compared draws, over all trials. Only searched hyperparameters are shown; `--json` has all of them.",
        ],
        head: ["Algorithm", "validation", "test", "trial", "draw", "draws", "hyperparameters"],
        rows: own.map((each) => [
          ...[each.title, percent(each.validation), percent(each.test)],
          ...[String(each.trial), String(each.draw), String(each.draws), hparamsText(each.hparams, each.searched)],
        ]),
        notes: [],
        align: "left" as const,
      },
      {
        title: `Chosen on ${title}, by held-out domain and trial`,
        words: [
          "The cells of the table above are means of these: the run and the step that model selection chose in each trial.",
        ],
        head: ["Algorithm", "held out", "trial", "validation", "test", "step", "draw", "hyperparameters", "run"],
        rows: cells.map((each) => [
          ...[each.title, each.domain, String(each.trial), percent(each.validation), percent(each.test)],
          ...[String(each.step), String(each.draw), hparamsText(each.hparams, searched.get(each.method) ?? [])],
          each.run,
        ]),
        notes: [],
        align: "left" as const,
      },
    ];
  });
}

const percent = (share: number): string => (100 * share).toFixed(1);

function hparamsText(hparams: Hparams, searched: readonly string[]): string {
  if (searched.length === 0) return "not searched";
  const own = searched.filter((name) => Object.hasOwn(hparams, name)); // an option of another optimizer is not in it
  return own.map((name) => `${name}=${valueText(hparams[name])}`).join(" ");
}
