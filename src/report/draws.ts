/**
 * The results of a search: for every draw of hyperparameters, the step that selection would choose, and the drawn
 * values.
 */

import type { EvaluatedRun, SettingScalar } from "../records/index.js";
import { type GroupResult, groupRuns, rankHparams } from "../selection/index.js";
import type { Outcome } from "./outcome.js";

/** Values by name; those of a penalty or an average have its id as a prefix (`nuclear-norm.weight`). */
export type Hparams = Readonly<Record<string, SettingScalar>>;

/**
 * The choice for every draw of every cell and trial, made with the selection method of the report; the best of a cell
 * first.
 */
export function drawsOf({ runs, selection }: Outcome): GroupResult[] {
  return groupRuns(runs).flatMap((group) => {
    const { dataset, method, testDomain, trialSeed } = group;
    return rankHparams(group, selection).map((draw) => ({ dataset, method, testDomain, trialSeed, ...draw }));
  });
}

/** The hyperparameters of a run as in its files; for a run of another testbed by the names used there. */
export function hparamsOf(outcome: Outcome, run: EvaluatedRun): Hparams {
  const settings = outcome.storedOf(run)?.settings;
  if (!settings) return run.hparams ?? {};
  const { hparams, regularizers, averaging } = settings;
  const parts = [...regularizers, ...averaging.filter(({ id }) => id === run.method.model)];
  const named = parts.flatMap(({ id, settings: values }) =>
    Object.entries(values).map(([name, value]) => [`${id}.${name}`, value]),
  );
  return { ...hparams, ...(Object.fromEntries(named) as Hparams) };
}

/** The names of the hyperparameters that differ between some runs: those that were searched. */
export function searchedNames(values: readonly Hparams[]): string[] {
  const names = new Set(values.flatMap((each) => Object.keys(each)));
  return [...names].filter((name) => new Set(values.map((each) => each[name])).size > 1);
}

/** A value shortened for a table: at most three digits of a number. */
export function valueText(value: SettingScalar): string {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return Math.abs(value) < 1e-3
    ? String(Number(value.toPrecision(3)).toExponential())
    : String(Number(value.toPrecision(3)));
}
