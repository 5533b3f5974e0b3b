/**
 * What the cells of a table were chosen from, where it is not the same in all of them: the number of draws, the members
 * of soups and ensembles, and runs that are not finished. Such cells are marked, because they are not comparable.
 */

import type { EvaluatedRun } from "../records/index.js";
import type { Outcome } from "./outcome.js";
import type { ReportedResult } from "./whole-domain.js";

/** The most draws of a cell and trial of a dataset; soups, ensembles and chosen rows have none of their own. */
export function mostDraws(outcome: Outcome, dataset: string): number {
  return Math.max(
    1,
    ...outcome
      .resultsOn(dataset)
      .filter((each) => isSearched(outcome, each))
      .map(({ draws = 1 }) => draws),
  );
}

const isSearched = (outcome: Outcome, { choice: { run } }: ReportedResult): boolean =>
  run.chosenFrom === undefined && !outcome.storedOf(run)?.settings.combination;

/** What distinguishes a cell from others of the table; null if nothing does. */
export function unevenText(
  outcome: Outcome,
  results: readonly ReportedResult[],
  { dataset, method, domain, most }: { dataset: string; method: string; domain: string; most: number },
): string | null {
  const inOrder = results.toSorted((a, b) => a.trialSeed - b.trialSeed);
  const texts = [
    drawsText(outcome, inOrder, most),
    membersText(outcome, inOrder, dataset),
    openText(
      outcome,
      outcome.runsOf(method, dataset).filter(({ testDomains }) => testDomains.includes(domain)),
    ),
  ].filter((text) => text !== null);
  return texts.length === 0 ? null : texts.join("; ");
}

function drawsText(outcome: Outcome, results: readonly ReportedResult[], most: number): string | null {
  const searched = results.filter((each) => isSearched(outcome, each));
  const counts = searched.map(({ draws = 1 }) => draws);
  if (counts.every((count) => count === most)) return null;
  return `chosen from ${listed(counts, "draw")} of hyperparameters${inTrials(searched)}, and other cells of the table from ${most}; not comparable`;
}

function membersText(outcome: Outcome, results: readonly ReportedResult[], dataset: string): string | null {
  const combined = results.flatMap(({ choice: { run } }) => outcome.storedOf(run)?.settings.combination ?? []);
  if (combined.length === 0) return null;
  const counts = combined.map(({ members }) => members.length);
  const planned = Math.max(
    ...combined.map(({ members, of = 0 }) => Math.max(members.length, of)),
    outcome.mostMembers(dataset),
  );
  if (counts.every((count) => count === planned)) return null;
  return `combines ${listed(counts, "run")}${inTrials(results)} where others combine ${planned}; not comparable`;
}

/** Unfinished runs count up to their last evaluation. */
function openText(outcome: Outcome, runs: readonly EvaluatedRun[]): string | null {
  const open = new Set(runs.filter((run) => outcome.storedOf(run)?.done === false).map(({ source }) => source)).size;
  if (open === 0) return null;
  return `${open === 1 ? "a run of this cell is" : `${open} runs of this cell are`} not finished and ${open === 1 ? "counts up to its" : "count up to their"} last evaluation`;
}

/** `5, 1 and 2 draws`, or `1 draw` if all are equal. */
function listed(counts: readonly number[], what: string): string {
  const shown = new Set(counts).size === 1 ? counts.slice(0, 1) : counts;
  const text = shown.length < 2 ? shown.join() : `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
  return `${text} ${what}${shown.length === 1 && shown[0] === 1 ? "" : "s"}`;
}

const inTrials = (results: readonly ReportedResult[]): string =>
  results.length < 2 ? "" : ` in trials ${results.map(({ trialSeed }) => trialSeed).join(", ")}`;
