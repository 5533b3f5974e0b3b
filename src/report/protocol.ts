/** The words above a table: how its models were chosen, and what was trained and measured, read off the runs' settings. */

import { algorithms } from "../algorithms/index.js";
import { fixedText } from "../records/fixed-settings.js";
import type { StoredRun } from "../records/index.js";
import type { Outcome } from "./outcome.js";
import { ownWords } from "./own-words.js";
import { settingsInWords } from "./settings-words.js";

/** The selection rule and the protocol of the runs on some datasets. */
export function protocolWords(outcome: Outcome, datasets: readonly string[]): string[] {
  const runs = outcome.runs.filter(({ dataset }) => datasets.includes(dataset));
  const stored = [...new Set(runs.flatMap((run) => outcome.storedOf(run) ?? []))];
  const foreign = runs.filter((run) => !outcome.storedOf(run)).length;
  const { title, about } = outcome.selection;
  const selection = `Selection: ${title}, that is, ${about}.`;
  const isOwn = datasets.length > 0 && datasets.every((dataset) => outcome.isOwnData(dataset));
  const [measured, ...made] = isOwn ? ownWords(outcome, datasets) : benchmarkWords(outcome, stored);
  const words = isOwn ? [measured, selection, ...made] : [selection, measured, ...made];
  for (const penalty of penaltiesInWords(stored)) words.push(penalty);
  words.push(...neverActive(stored), ...neverAnnealed(stored));
  if (foreign > 0)
    words.push(`${foreign} of the runs were read from another testbed's result files; their settings are theirs.`);
  return words;
}

function benchmarkWords({ common }: Outcome, stored: readonly StoredRun[]): string[] {
  const words = [
    "Protocol: each domain held out in turn and never trained on; accuracy in percent on its `in` part, the mean over trials ± " +
      "the standard error (population standard deviation over √trials, as DomainBed).",
  ];
  if (stored.length > 0)
    words.push(`${stored.length} ${stored.length === 1 ? "run" : "runs"}: ${settingsInWords(stored)}.`);
  const byHand = fixedText(common);
  if (byHand !== "") words.push(`Set by hand in all of them: ${byHand}.`);
  return words;
}

/** The paper's formula and the code behind its tables differ in scale and start, so every table says which was used. */
function penaltiesInWords(stored: readonly StoredRun[]): string[] {
  const ids = new Set(stored.flatMap(({ settings }) => settings.regularizers.map(({ id }) => id)));
  return Array.from(ids, (id) => {
    const runs = stored.flatMap(({ settings: { regularizers, fixed } }) =>
      regularizers.filter((each) => each.id === id).map(({ settings: values }) => ({ values, fixed })),
    );
    const alike: string[] = [];
    const varied: string[] = [];
    for (const name of new Set(runs.flatMap(({ values }) => Object.keys(values)))) {
      // What was set by hand is in the names of rows where rows differ in it; the rest are defaults or draws.
      const unnamed = runs.filter(({ fixed }) => !Object.hasOwn(fixed, `${id}.${name}`));
      const [all, own] = [runs, unnamed].map((some) => [...new Set(some.map(({ values }) => values[name]))]);
      if (all.length === 1) alike.push(`${name}=${all[0]}`);
      else if (own.length === 0) varied.push(`${name} as the rows say`);
      else varied.push(`${name}=${span(own)}${unnamed.length < runs.length ? " unless a row says another" : ""}`);
    }
    return `Penalty ${id}: ${[alike.join(" "), ...varied].filter((words) => words !== "").join(", ") || "as declared"}.`;
  });
}

/** `0.01`, `0.0034 … 0.029` of draws, `features or logits`. */
function span(values: readonly unknown[]): string {
  const numbers = values.filter((value) => typeof value === "number").sort((a, b) => a - b);
  if (numbers.length < values.length || numbers.length < 3) return values.map(String).sort().join(" or ");
  const ends = [numbers[0], numbers[numbers.length - 1]].map((value) => Number(value.toPrecision(2)));
  return ends.join(" … ");
}

/** Runs that ended before their penalty set in are the plain method's, whatever they are called. */
function neverActive(stored: readonly StoredRun[]): string[] {
  const late = stored.filter(({ settings }) => {
    const { steps } = settings as { readonly steps?: number };
    return settings.regularizers.some(
      ({ settings: { warmup } }) => Number(warmup) >= (steps ?? Number.POSITIVE_INFINITY),
    );
  });
  if (late.length === 0) return [];
  return [
    `In ${late.length} of the runs with a penalty it never set in: its warmup is as long as the run, so they are those of the plain method.`,
  ];
}

/** Methods whose own penalty weighs less, or nothing, until a step that none of their runs came to. */
function neverAnnealed(stored: readonly StoredRun[]): string[] {
  const ends = new Map<string, Set<number>>();
  for (const { settings } of stored) {
    const { algorithm, hparams, steps = Number.POSITIVE_INFINITY } = settings;
    const anneal = Number(hparams?.annealSteps ?? 0); // older runs may have none
    if (anneal >= steps) ends.set(algorithm, (ends.get(algorithm) ?? new Set()).add(anneal));
  }
  if (ends.size === 0) return [];
  const inOrder = [...Object.keys(algorithms), ...ends.keys()].filter((id, i, all) => all.indexOf(id) === i);
  const names = inOrder.flatMap((id) =>
    ends.has(id) ? [`${algorithms[id]?.title ?? id} (${[...ends.get(id)!].join(" or ")})`] : [],
  );
  return [`Ended before annealSteps, from which on their own penalty has its full weight: ${names.join(", ")}.`];
}
