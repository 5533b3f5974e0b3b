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
import { type CombinedRuns, combinedRuns, combinedText, combinedTexts } from "./combined-runs.js";
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
  /** The number of the draw of hyperparameters; 0 is the defaults. Null for a soup or an ensemble. */
  readonly draw: number | null;
  /** Empty for a soup or an ensemble. */
  readonly hparams: Hparams;
  /** The runs of a soup or an ensemble. */
  readonly combines?: CombinedRuns;
  /** The title of the method that `--choose` chose. */
  readonly chosenFrom?: string;
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
  const { dataset, testDomain: domain, trialSeed: trial, choice } = result;
  const { run, step, validation, test } = choice;
  const from = run.chosenFrom && titleOf(outcome, methodKey(run.chosenFrom));
  return {
    ...{ dataset, method: key, title, domain, trial, run: run.source, step, ...drawOf(outcome, result) },
    ...(from !== undefined && { chosenFrom: from }),
    ...{ validation, test },
  };
}

const titleOf = ({ methods }: Outcome, method: string): string =>
  methods.find(({ key }) => key === method)?.title ?? method;

/** The draw of a result with its hyperparameters, or what it combines. */
function drawOf(
  outcome: Outcome,
  { hparamsSeed: draw, choice: { run } }: GroupResult,
): Pick<Chosen, "draw" | "hparams" | "combines"> {
  const combines = combinedRuns(outcome, run);
  return combines ? { draw: null, hparams: {}, combines } : { draw, hparams: hparamsOf(outcome, run) };
}

/** A draw over all held-out domains of a trial, or the soups or ensembles of a trial. Accuracies are means over the domains. */
export interface BestDraw extends Pick<Chosen, "dataset" | "method" | "title" | "trial" | "draw" | "hparams"> {
  /** For soups and ensembles, by held-out domain. */
  readonly combines?: readonly CombinedRuns[];
  /** Names of the searched hyperparameters. */
  readonly searched: readonly string[];
  readonly draws: number;
  readonly domains: number;
  readonly validation: number;
  readonly test: number;
}

/**
 * For each method on each dataset the draw with the highest mean validation accuracy over the held-out domains of its
 * trial. There is none for the row of `--choose`, which has another method in each cell.
 */
export function bestDraws(outcome: Outcome): BestDraw[] {
  const byRow = groupBy(drawsOf(outcome), ({ dataset, method }) => JSON.stringify([dataset, methodKey(method)]));
  return outcome.datasets.flatMap((dataset) =>
    outcome.methods.flatMap((row): BestDraw[] => {
      const { key: method, title } = row;
      const draws = byRow.get(JSON.stringify([dataset, method])) ?? [];
      if (draws.some(({ choice }) => choice.run.chosenFrom)) return [];
      const together = [...groupBy(draws, ({ trialSeed, hparamsSeed }) => `${trialSeed} ${hparamsSeed}`).values()];
      const domains = Math.max(0, ...together.map(({ length }) => length));
      const whole = together
        .filter(({ length }) => length === domains) // a mean over fewer domains is not comparable
        .map((results) => ({ results, validation: mean(results.map(({ choice }) => choice.validation)) }))
        .filter(({ validation }) => Number.isFinite(validation));
      if (whole.length === 0) return [];
      const { results, validation } = whole.reduce((best, each) => (each.validation > best.validation ? each : best));
      const [{ trialSeed: trial }] = results;
      const { combines: _, ...own } = drawOf(outcome, results[0]);
      const combines = results.flatMap(({ choice }) => combinedRuns(outcome, choice.run) ?? []);
      const searched = searchedIn(outcome, row, dataset);
      const found = { dataset, method, title, trial, ...own, searched, ...(combines.length > 0 && { combines }) };
      return [
        { ...found, draws: whole.length, domains, validation, test: mean(results.map((each) => each.choice.test)) },
      ];
    }),
  );
}

/** The names of the hyperparameters that were searched for a method. */
function searchedIn(outcome: Outcome, { key, method }: ReportedMethod, dataset: string): string[] {
  const trained = outcome.runsOf(key, dataset).filter((run) => !outcome.storedOf(run)?.settings.combination);
  return searchedNames(
    trained.map((run) => hparamsOf(outcome, run)),
    method,
  );
}

/** The selection as tables of texts: the best hyperparameters of each method on a dataset, then every cell and trial. */
export function chosenTables(outcome: Outcome, best: readonly BestDraw[]): TextTable[] {
  const chosen = chosenOf(outcome);
  return outcome.datasets.flatMap((dataset) => {
    const own = best.filter((each) => each.dataset === dataset);
    if (own.length === 0) return [];
    const searched = new Map(own.map((each) => [each.title, each.searched]));
    const cells = chosen.filter((each) => each.dataset === dataset);
    const title = datasetTitle(dataset);
    return [
      {
        title: `Best hyperparameters on ${title}`,
        words: [
          "For each method, the draw with the highest mean validation accuracy over the held-out domains of its trial, with its mean test accuracy. draws: the number of compared draws, over all trials. Only searched hyperparameters are shown; `--json` has all of them.",
          ...(own.some(({ combines }) => combines) ? [COMBINED] : []),
        ],
        head: ["Algorithm", "validation", "test", "trial", "draw", "draws", "hyperparameters"],
        rows: own.map((each) => [
          ...[each.title, percent(each.validation), percent(each.test)],
          ...[String(each.trial), String(each.draw ?? "–"), String(each.draws)],
          each.combines ? combinedTexts(each.combines) : hparamsText(each.hparams, each.searched),
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
          ...[String(each.step), String(each.draw ?? "–"), cellText(each, searched), each.run],
        ]),
        notes: [],
        align: "left" as const,
      },
    ];
  });
}

const COMBINED =
  "Soups and ensembles have no hyperparameters of their own, because they combine the runs of several draws or seeds.";

const percent = (share: number): string => (100 * share).toFixed(1);

/** The hyperparameters of a cell, or what it combines; after the name of the method where `--choose` chose it. */
function cellText(
  { title, chosenFrom, combines, hparams }: Chosen,
  searched: ReadonlyMap<string, readonly string[]>,
): string {
  const text = combines ? combinedText(combines) : hparamsText(hparams, searched.get(chosenFrom ?? title) ?? []);
  return chosenFrom === undefined ? text : `${chosenFrom}: ${text}`;
}

function hparamsText(hparams: Hparams, searched: readonly string[]): string {
  if (searched.length === 0) return "not searched";
  const own = searched.filter((name) => Object.hasOwn(hparams, name)); // an option of another optimizer is not in it
  return own.map((name) => `${name}=${valueText(hparams[name])}`).join(" ");
}
