/**
 * The text above a table: the model selection, and what was trained and measured, derived from the settings of the
 * runs.
 */

import { algorithms } from "../algorithms/index.js";
import { groupBy } from "../group-by.js";
import { fixedText } from "../records/fixed-settings.js";
import type { StoredRun } from "../records/index.js";
import type { Outcome } from "./outcome.js";
import { ownWords } from "./own-words.js";
import { rangeWords } from "./searched-ranges.js";
import { settingsInWords } from "./settings-words.js";

/** The selection method and the protocol of the runs on some datasets. */
export function protocolWords(outcome: Outcome, datasets: readonly string[]): string[] {
  const runs = outcome.runs.filter(({ dataset }) => datasets.includes(dataset));
  const found = runs.map((run) => outcome.storedOf(run));
  const stored = [...new Set(found.filter((run) => run !== undefined))];
  const foreign = found.filter((run) => run === undefined).length;
  const { title, about } = outcome.selection;
  const selection = `Selection: ${title}, that is, ${about}.`;
  const isOwn = datasets.length > 0 && datasets.every((dataset) => outcome.isOwnData(dataset));
  const [measured, ...made] = isOwn ? ownWords(outcome, datasets) : benchmarkWords(outcome, stored);
  const words = isOwn ? [measured, selection, ...made] : [selection, measured, ...made];
  for (const penalty of penaltiesInWords(stored)) words.push(penalty);
  words.push(...rangeWords(outcome, datasets), ...neverActive(stored), ...neverAnnealed(stored));
  if (foreign > 0)
    words.push(`${foreign} of the runs were read from the result files of another testbed, with its settings.`);
  return words;
}

function benchmarkWords(outcome: Outcome, stored: readonly StoredRun[]): string[] {
  const words = [
    "Protocol: each domain is held out in turn and not used for training; accuracy in percent on its `in` split, the mean over trials ± " +
      "the standard error (population standard deviation divided by √trials, as in DomainBed).",
  ];
  const { trained, combined } = apart(outcome, stored);
  if (stored.length > 0)
    words.push(
      `${trained.length} ${trained.length === 1 ? "run" : "runs"}${combinationsInWords(combined)}: ${settingsInWords(trained.length > 0 ? trained : combined)}.`,
    );
  const byHand = fixedText(outcome.common);
  if (byHand !== "") words.push(`Set explicitly in all of them: ${byHand}.`);
  return words;
}

/** Trained runs, also those that count only in soups and ensembles, and these soups and ensembles. */
function apart(
  outcome: Outcome,
  stored: readonly StoredRun[],
): { trained: readonly StoredRun[]; combined: readonly StoredRun[] } {
  const combined = stored.filter(({ settings }) => settings.combination);
  const members = combined.flatMap(({ settings }) => settings.combination!.members);
  const found = members.flatMap((id) => outcome.storedById(id) ?? []);
  const own = stored.filter(({ settings }) => !settings.combination);
  return { trained: [...new Set([...own, ...found])], combined };
}

/** ` and 8 combinations of them (4 soups, 4 ensembles)`. */
function combinationsInWords(combined: readonly StoredRun[]): string {
  if (combined.length === 0) return "";
  const kinds = groupBy(combined, ({ settings }) => settings.combination!.kind.replace("-", " "));
  const counts = Array.from(kinds, ([kind, { length }]) => `${length} ${kind}${length === 1 ? "" : "s"}`);
  return ` and ${combined.length} ${combined.length === 1 ? "combination" : "combinations"} of them (${counts.join(", ")})`;
}

/** The paper's formula and the code behind its tables differ in scale and start, so every table states which was used. */
function penaltiesInWords(stored: readonly StoredRun[]): string[] {
  const ids = new Set(stored.flatMap(({ settings }) => settings.regularizers.map(({ id }) => id)));
  return Array.from(ids, (id) => {
    const runs = stored.flatMap(({ settings: { regularizers, fixed } }) =>
      regularizers.filter((each) => each.id === id).map(({ settings: values }) => ({ values, fixed })),
    );
    const shared: string[] = [];
    const varied: string[] = [];
    for (const name of new Set(runs.flatMap(({ values }) => Object.keys(values)))) {
      // Explicit settings are in the names of rows if rows differ in them; the rest are defaults or draws.
      const unnamed = runs.filter(({ fixed }) => !Object.hasOwn(fixed, `${id}.${name}`));
      const [all, own] = [runs, unnamed].map((some) => [...new Set(some.map(({ values }) => values[name]))]);
      if (all.length === 1) shared.push(`${name}=${all[0]}`);
      else if (own.length === 0) varied.push(`${name} as given in the rows`);
      else
        varied.push(
          `${name}=${span(own)}${unnamed.length < runs.length ? " except where a row shows another value" : ""}`,
        );
    }
    return `Penalty ${id}: ${[shared.join(" "), ...varied].filter((words) => words !== "").join(", ") || "defaults"}.`;
  });
}

/** `0.01`, `0.0034 … 0.029` of draws, `features or logits`. */
function span(values: readonly unknown[]): string {
  const numbers = values.filter((value) => typeof value === "number").sort((a, b) => a - b);
  if (numbers.length < values.length || numbers.length < 3) return values.map(String).sort().join(" or ");
  const ends = [numbers[0], numbers[numbers.length - 1]].map((value) => Number(value.toPrecision(2)));
  return ends.join(" … ");
}

/** Runs that ended before their penalty became active are those of the plain method. */
function neverActive(stored: readonly StoredRun[]): string[] {
  const late = stored.filter(({ settings }) => {
    const { steps } = settings as { readonly steps?: number };
    return settings.regularizers.some(
      ({ settings: { warmup } }) => Number(warmup) >= (steps ?? Number.POSITIVE_INFINITY),
    );
  });
  if (late.length === 0) return [];
  return [
    `In ${late.length} of the runs with a penalty, the penalty never became active, because its warmup is as long as the run; they are equal to the plain method.`,
  ];
}

/** Methods whose own penalty has less weight, or none, until a step that none of their runs reached. */
function neverAnnealed(stored: readonly StoredRun[]): string[] {
  const ends = new Map<string, Set<number>>();
  for (const { settings } of stored) {
    const { algorithm, hparams, steps = Number.POSITIVE_INFINITY } = settings;
    const anneal = Number(hparams?.annealSteps ?? 0); // older runs can lack it
    if (anneal >= steps) ends.set(algorithm, (ends.get(algorithm) ?? new Set()).add(anneal));
  }
  if (ends.size === 0) return [];
  const inOrder = [...Object.keys(algorithms), ...ends.keys()].filter((id, i, all) => all.indexOf(id) === i);
  const names = inOrder.flatMap((id) =>
    ends.has(id) ? [`${algorithms[id]?.title ?? id} (${[...ends.get(id)!].join(" or ")})`] : [],
  );
  return [
    `These methods ended before annealSteps, when their own penalty reaches its full weight: ${names.join(", ")}.`,
  ];
}
