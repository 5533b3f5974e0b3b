/**
 * The results of a search: for every draw of hyperparameters, the step that selection would choose, and the drawn
 * values.
 */

import { declared, searchedKeys } from "../declared-settings/declared.js";
import type { PluginSettings, StoredKeys } from "../declared-settings/stored.js";
import { parseRange } from "../hparams.js";
import type { FixedSettings } from "../records/fixed-settings.js";
import type { EvaluatedRun, SettingScalar } from "../records/index.js";
import { type GroupResult, groupRuns, rankHparams } from "../selection/index.js";
import type { Outcome } from "./outcome.js";

/**
 * Values by name; those of a penalty, an average, an optimizer or a schedule have its id as a prefix
 * (`nuclear-norm.weight`).
 */
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

/**
 * The hyperparameters of a run as in its files, with the explicit settings of its optimization; for a run of another
 * testbed by the names used there.
 */
export function hparamsOf(outcome: Outcome, run: EvaluatedRun): Hparams {
  const settings = outcome.storedOf(run)?.settings;
  if (!settings) return run.hparams ?? {};
  const { hparams, regularizers, averaging, optimizer, schedule, fixed } = settings;
  const explicit = searchedKeys.flatMap((name): [string, SettingScalar][] => {
    const stored = settings[name as keyof StoredKeys] as SettingScalar | PluginSettings | undefined;
    if (stored === undefined && !Object.hasOwn(fixed, name)) return [];
    const usual = (declared[name].default ?? null) as SettingScalar;
    return [[name, typeof stored === "object" && stored !== null ? stored.id : (stored ?? usual)]];
  });
  const models = (run.chosenFrom ?? run.method).model.split("+");
  const parts = [...regularizers, ...averaging.filter(({ id }) => models.includes(id)), optimizer, schedule];
  const named = parts.flatMap((part): [string, SettingScalar][] =>
    part ? Object.entries(part.settings).map(([name, value]) => [`${part.id}.${name}`, value]) : [],
  );
  return { ...hparams, ...Object.fromEntries(explicit), ...Object.fromEntries(named) };
}

/** The names of the hyperparameters that differ between some of the runs that have them. */
export function varyingNames(values: readonly Hparams[]): string[] {
  const found = new Map<string, Set<SettingScalar>>();
  for (const each of values)
    for (const [name, value] of Object.entries(each)) found.set(name, (found.get(name) ?? new Set()).add(value));
  return [...found].filter(([, distinct]) => distinct.size > 1).map(([name]) => name);
}

/** The names of the searched hyperparameters: those that vary, and those with an explicit range. */
export function searchedNames(
  values: readonly Hparams[],
  { algorithm, fixed }: { algorithm: string; fixed: FixedSettings },
): string[] {
  const varying = new Set(varyingNames(values));
  const isRange = (value: SettingScalar | undefined): boolean =>
    typeof value === "string" && parseRange(value) !== null;
  const names = new Set(values.flatMap((each) => Object.keys(each)));
  return [...names].filter(
    (name) => varying.has(name) || isRange(fixed[name]) || isRange(fixed[`${algorithm}.${name}`]),
  );
}

/** A value shortened for a table: at most three digits of a number. */
export function valueText(value: SettingScalar): string {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return Math.abs(value) < 1e-3
    ? String(Number(value.toPrecision(3)).toExponential())
    : String(Number(value.toPrecision(3)));
}
