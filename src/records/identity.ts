/**
 * What makes two runs alike, so that a cell of a table may average them: the same data, start, code and method, and the
 * same value of every setting that was not drawn. Trial, draw and seed differ between the runs of a cell, and settings
 * whose declaration says that runs may share a cell (`pooled`) are not compared.
 */

import { followers } from "../averaging/index.js";
import { declared, valueIfAbsent } from "../declared-settings/declared.js";
import { modelOf } from "../declared-settings/meaning.js";
import { canonicalJson } from "../files/canonical-json.js";
import { parseRange } from "../hparams.js";
import { type AnyRegularizerDefinition, regularizers as penalties } from "../regularizers/index.js";
import type { FixedSettings } from "./fixed-settings.js";
import type { PluginSettings, RunSettings, SettingScalar } from "./run.js";

/**
 * Values by name. Undefined is unknown: an earlier version did not record it. Null is known: there is none, or the
 * program's own choice.
 */
export type Facts = Readonly<Record<string, SettingScalar | undefined>>;

export interface Identity {
  /** The samples and the options of the dataset. Compared between all rows of a table. */
  readonly data: Facts;
  /** The starting weights. */
  readonly start: Facts;
  /** The code of plug-ins, and of every file that they import. */
  readonly code: Facts;
  /** The settings of penalties, of the averages in the evaluated model, of optimizer and schedule. */
  readonly method: Facts;
  /** Every other resolved value that was not drawn. */
  readonly values: Facts;
  /** The default hyperparameters, for draw 0; absent for other draws, which were drawn. */
  readonly defaults?: Facts;
}

/** The names of the settings that runs of one row can differ in by their place in the table: trial, draw, column. */
const comparedKeys = Object.keys(declared).filter((name) => {
  const { pooled, names, stored, model } = declared[name];
  return !pooled && !names && model === undefined && !["never", "as part", "as parts"].includes(stored);
});

const asScalar = (value: unknown): SettingScalar =>
  value === undefined || value === null ? null : typeof value === "object" ? canonicalJson(value) : (value as string);

/** The identity of a run, as far as it concerns one of its models. */
export function identityOf(settings: RunSettings, model: string): Identity {
  const { facts, fixed, hparamsSeed } = settings;
  const isDrawn = (name: string): boolean => isRange(fixed[name]);
  const defaults: Record<string, SettingScalar> = {};
  const method: Record<string, SettingScalar | undefined> = {};
  for (const { id, settings: values } of settings.regularizers)
    for (const [name, value] of Object.entries(values)) {
      const named = `${id}.${name}`;
      if (isDrawn(named) || Object.hasOwn(fixed, named)) continue;
      (isSearched(id, name) ? defaults : method)[named] = value;
    }
  const parts = model.split("+");
  for (const { id, settings: values } of settings.averaging)
    if (parts.includes(id))
      for (const [name, value] of Object.entries(values)) if (!isPooled(id, name)) method[`${id}.${name}`] = value;
  for (const name of ["optimizer", "schedule"] as const) {
    if (isDrawn(name)) continue;
    method[name] = settings[name]?.id ?? asScalar(declared[name].default);
    Object.assign(method, optionsIn(settings[name], isDrawn));
  }
  const searchesPart = isDrawn("optimizer") || isDrawn("schedule");
  if (searchesPart) method.options = facts && asScalar(facts.options);
  for (const [name, value] of Object.entries(settings.hparams)) if (!Object.hasOwn(fixed, name)) defaults[name] = value;
  const values: Record<string, SettingScalar> = {};
  for (const name of comparedKeys)
    if (!isDrawn(name)) values[name] = asScalar(settings[name as keyof RunSettings]) ?? asScalar(valueIfAbsent(name));
  for (const name of Object.keys(declared))
    if (modelOf(name) !== undefined && parts.includes(modelOf(name)!)) values[name] = asScalar(settings[name as "t3a"]);
  const { plugins = [] } = settings;
  return {
    data: {
      samples: facts?.samples.hash ?? settings.pictures,
      split: facts && (facts.split ?? null),
      ...prefixed("data", settings.datasetOptions ?? {}),
      inputShape: asScalar(settings.inputShape),
    },
    start: { weights: settings.weightsHash ?? null, variant: asScalar(settings.variant) },
    code: {
      plugin: shas(plugins),
      imports: plugins.length === 0 ? null : facts && shas(facts.code),
    },
    method,
    values,
    ...(hparamsSeed === 0 && !settings.combination && { defaults }),
  };
}

const shas = (files: readonly { readonly sha256: string }[]): string | null =>
  files.length === 0 ? null : [...new Set(files.map(({ sha256 }) => sha256))].sort().join(" ");

const prefixed = (prefix: string, values: FixedSettings): FixedSettings =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}.${name}`, value]));

const optionsIn = (part: PluginSettings | undefined, isDrawn: (name: string) => boolean): FixedSettings =>
  Object.fromEntries(Object.entries(prefixed(part?.id ?? "", part?.settings ?? {})).filter(([name]) => !isDrawn(name)));

/** Whether a value of a run's request is a range of a search. */
const isRange = (value: SettingScalar | undefined): boolean =>
  typeof value === "string" && /[{(]/.test(value) && parseRange(value) !== null;

/** Whether a search draws a setting of a penalty. Those of a plug-in that is not loaded are unknown, and could be. */
function isSearched(id: string, name: string): boolean {
  const known: Readonly<Record<string, AnyRegularizerDefinition>> = penalties;
  return Object.hasOwn(known, id) ? !Object.hasOwn(known[id].settings, name) : true;
}

const isPooled = (id: string, name: string): boolean =>
  Object.hasOwn(followers, id) &&
  Object.entries(followers[id].settings).some(
    ([own, { pooled, formerly }]) => pooled !== undefined && (own === name || formerly === name),
  );

/** All facts of an identity by name. Names are unambiguous; `defaults` of another draw than 0 are absent. */
export const factsIn = ({ data, start, code, method, values, defaults = {} }: Identity): Facts => ({
  ...data,
  ...start,
  ...code,
  ...method,
  ...values,
  ...defaults,
});
