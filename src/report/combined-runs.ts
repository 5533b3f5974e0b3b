/** The runs that a soup or an ensemble combines. It has no hyperparameters of its own, because these runs can be several draws. */

import type { EvaluatedRun } from "../records/index.js";
import type { Outcome } from "./outcome.js";

export interface CombinedRuns {
  /** `soup`, `uniform-soup` or `ensemble`. */
  readonly kind: string;
  /** The ids of the combined runs; for a greedy soup, of those that it took. */
  readonly runs: readonly string[];
  /** The number of runs that could be combined. */
  readonly of: number;
  /** The draws and the seeds of the combined runs, as far as these are among the results. */
  readonly draws: readonly number[];
  readonly seeds: readonly number[];
}

/** What a run combines; undefined if it was trained. */
export function combinedRuns(outcome: Outcome, run: EvaluatedRun): CombinedRuns | undefined {
  const { combination } = outcome.storedOf(run)?.settings ?? {};
  if (!combination) return undefined;
  const { kind, members, taken } = combination;
  const runs = taken?.[(run.chosenFrom ?? run.method).model] ?? members;
  const found = runs.flatMap((id) => outcome.storedById(id)?.settings ?? []);
  const sorted = (values: readonly number[]): number[] => [...new Set(values)].sort((a, b) => a - b);
  return {
    ...{ kind, runs, of: members.length },
    draws: sorted(found.map(({ hparamsSeed }) => hparamsSeed)),
    seeds: sorted(found.map(({ seed }) => seed)),
  };
}

/** `combines 3 runs (draws 0, 1, 2)`. */
export function combinedText({ runs, of, draws, seeds }: CombinedRuns): string {
  const list = (name: string, values: readonly number[]): string =>
    `${name}${values.length === 1 ? "" : "s"} ${values.join(", ")}`;
  const isSearched = draws.length > 1 || draws.some((draw) => draw > 0);
  const names = [...(isSearched ? [list("draw", draws)] : []), ...(seeds.length > 1 ? [list("seed", seeds)] : [])];
  const count = runs.length === of ? String(of) : `${runs.length} of ${of}`;
  return `combines ${count} ${of === 1 ? "run" : "runs"}${names.length > 0 ? ` (${names.join("; ")})` : ""}`;
}

/** The same for several held-out domains, whose soups can differ. */
export function combinedTexts(all: readonly CombinedRuns[]): string {
  const texts = new Set(all.map(combinedText));
  if (texts.size === 1) return [...texts][0];
  const counts = all.map(({ runs }) => runs.length);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const [{ of }] = all;
  return `combines ${least === most ? most : `${least} to ${most}`} of ${of} runs; which ones depends on the held-out domain`;
}
