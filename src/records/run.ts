/**
 * The run folder as its readers need it: `settings.json`, `records.jsonl` and `done`. Settings are read from disk by
 * tables and dashboards that know nothing of the program that wrote them, so they are checked; keys not named here are
 * kept.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hparamName } from "../algorithms/shared-hparams.js";
import { ASSESSMENT_FILE, type Assessment, parseAssessment } from "../analysis/assessment.js";
import { DataError } from "../errors.js";
import { filesOf, type StoredFiles } from "../files/stored-files.js";
import { type EvaluatedRun, evaluationsOf, type Method, missingAccuracies } from "./evaluated-run.js";
import { type FixedSettings, pickFixed, type SettingScalar } from "./fixed-settings.js";
import { isObject } from "./json-lines.js";
import { datasetIn, isOwnDataset } from "./own-pictures.js";
import { type RunRecord, show } from "./record.js";
import { recordsIn } from "./store.js";

export type { SettingScalar };

/** A plug-in as a run had it, its hyperparameters and settings resolved. */
export interface PluginSettings {
  readonly id: string;
  readonly settings: Readonly<Record<string, SettingScalar>>;
}

/** What `settings.json` must hold for selection; there is more in it. */
export interface RunSettings {
  readonly dataset: string;
  /** All domains, in the dataset's order. */
  readonly domains: readonly string[];
  readonly testDomains: readonly string[];
  readonly algorithm: string;
  readonly regularizers: readonly PluginSettings[];
  /** The averaging followers that watched the run. */
  readonly averaging: readonly PluginSettings[];
  /** Which draw of hyperparameters; 0 is the defaults. */
  readonly hparamsSeed: number;
  /** Which split. */
  readonly trialSeed: number;
  /** All other randomness. */
  readonly seed: number;
  /** Every hyperparameter, resolved. */
  readonly hparams: Readonly<Record<string, SettingScalar>>;
  /**
   * What was set by hand and changes numbers, by a name that means one value only (`lr`, `mixup.alpha`). Runs that differ here
   * are other rows; a value that happens to be the default or the draw in its place counts too.
   */
  readonly fixed: FixedSettings;
  /** Of runs from before there was `fixed`: what of it was not as the default or the run's own draw. */
  readonly given?: FixedSettings;
  readonly steps?: number;
  /** Steps between evaluations. */
  readonly evaluateEvery?: number;
  /** The fraction of each domain that is `out`. */
  readonly holdout?: number;
}

export const SETTINGS_FILE = "settings.json";
export const RECORDS_FILE = "records.jsonl";
/** Where the estimate of a model on own pictures is kept. */
export const ESTIMATE_FILE = "estimate.json";
/** Written last: a folder without it is a run that is going on or was broken off. */
export const DONE_FILE = "done";

export interface StoredRun {
  /** Its folder, or the pack and the place in it. */
  readonly folder: string;
  readonly settings: RunSettings;
  readonly records: readonly RunRecord[];
  readonly done: boolean;
  /** When its settings were written, in milliseconds since 1970. */
  readonly begun?: number;
  /** What was wrong but could be read past, in words. */
  readonly notes: readonly string[];
  /** Of own pictures: what its model was found to do on all that it was not trained on; undefined where that is not known. */
  readonly assessment?: Assessment;
  /** Of a model that was trained on all domains: what runs like it found that each held one out, kept beside it. */
  readonly estimate?: Assessment;
}

/** Whether a folder is one of ours. */
export const isRunFolder = (folder: string): boolean => existsSync(join(folder, SETTINGS_FILE));

/** The note on a run that has no records. */
export const notEvaluated = (folder: string): string =>
  `${folder}: no ${RECORDS_FILE} yet: the run has not been evaluated`;

/** Reads a run, by its folder or its files. A run that has not evaluated yet has no records, which is noted. */
export function readRun(place: string | StoredFiles): StoredRun {
  const files = filesOf(place);
  const folder = files.path;
  const settings = parseSettings(join(folder, SETTINGS_FILE), settingsText(files));
  const text = files.text(RECORDS_FILE);
  const { records, notes } =
    text === undefined ? { records: [], notes: [notEvaluated(folder)] } : recordsIn(join(folder, RECORDS_FILE), text);
  const assessment = ownAssessment(files, settings);
  return {
    folder,
    settings,
    records,
    done: files.has(DONE_FILE),
    begun: files.time(SETTINGS_FILE),
    notes,
    ...(assessment && { assessment }),
  };
}

function settingsText(files: StoredFiles): string {
  const text = files.text(SETTINGS_FILE);
  if (text === undefined) throw unreadable(join(files.path, SETTINGS_FILE), new Error("there is no such file"));
  return text;
}

/** The assessment of a run on own pictures; benchmarks are reported by their protocol, which has none. */
export function ownAssessment(
  files: StoredFiles,
  { dataset }: RunSettings,
  file = ASSESSMENT_FILE,
): Assessment | undefined {
  if (!isOwnDataset(dataset) || !files.has(file)) return undefined;
  try {
    return parseAssessment(join(files.path, file), () => files.text(file) ?? "");
  } catch (error) {
    if (error instanceof DataError) return undefined; // then as if it had never been made, which tables tell
    throw error;
  }
}

/** Reads and checks a run's settings. */
export function readSettings(path: string): RunSettings {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw unreadable(path, cause);
  }
  return parseSettings(path, text);
}

const unreadable = (path: string, cause: unknown): DataError =>
  new DataError(`${path}: the settings of a run could not be read: ${(cause as Error).message}`, { cause });

/** The settings in the text of a file, checked. */
export function parseSettings(path: string, text: string): RunSettings {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  const settings = toSettings(parsed);
  if (typeof settings === "string") throw new DataError(`${path}: not the settings of a run: ${settings}`);
  return settings;
}

/** The settings in a parsed file, or in words what is wrong with them. */
export function toSettings(parsed: unknown): RunSettings | string {
  const wrong = checkSettings(parsed);
  if (wrong !== undefined) return wrong;
  const settings = parsed as RunSettings;
  return settings.fixed ? settings : { ...settings, fixed: fixedBefore(settings) };
}

/** What was set by hand in a run from before there was `fixed`, as far as it tells. */
function fixedBefore({ given = {}, algorithm, hparams }: RunSettings): RunSettings["fixed"] {
  const nameOf = (name: string): string => (Object.hasOwn(hparams, name) ? hparamName(name, algorithm) : name);
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [nameOf(name), value]));
}

const isName = (value: unknown): boolean => typeof value === "string" && value !== "";
const isSeed = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isNumberIfAny = (value: unknown): boolean => value === undefined || Number.isFinite(value);
const isNames = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isName) && new Set(value).size === value.length;
const isScalars = (value: unknown): boolean =>
  isObject(value) && Object.values(value).every((item) => item === null || typeof item !== "object");
const isPlugins = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => isObject(item) && isName(item.id) && isScalars(item.settings));

const checks: Readonly<Record<keyof RunSettings, readonly [test: (value: unknown) => boolean, expected: string]>> = {
  dataset: [isName, "a name"],
  domains: [isNames, "a list of different names"],
  testDomains: [isNames, "a list of different names"],
  algorithm: [isName, "a name"],
  regularizers: [isPlugins, "a list of { id, settings }"],
  averaging: [isPlugins, "a list of { id, settings }"],
  hparamsSeed: [isSeed, "a whole number from 0"],
  trialSeed: [isSeed, "a whole number from 0"],
  seed: [isSeed, "a whole number from 0"],
  hparams: [isScalars, "values by name"],
  fixed: [(value) => value === undefined || isScalars(value), "values by name"],
  given: [(value) => value === undefined || isScalars(value), "values by name"],
  steps: [isNumberIfAny, "a number"],
  evaluateEvery: [isNumberIfAny, "a number"],
  holdout: [isNumberIfAny, "a number"],
};

/** What is wrong with the settings of a run, in words; undefined where nothing is. */
function checkSettings(parsed: unknown): string | undefined {
  if (!isObject(parsed)) return `expected an object, got ${show(parsed)}`;
  for (const [key, [test, expected]] of Object.entries(checks)) {
    if (!test(parsed[key])) return `expected "${key}" to be ${expected}, got ${show(parsed[key])}`;
  }
  const { domains, testDomains } = parsed as unknown as RunSettings;
  const foreign = testDomains.find((domain) => !domains.includes(domain));
  return foreign === undefined ? undefined : `the test domain "${foreign}" is not among ${domains.join(", ")}`;
}

/** The row of a run's model. What was set of an average is no matter to the rows of the others. */
export function methodOf({ algorithm, regularizers, averaging, fixed }: RunSettings, model: string): Method {
  const others = averaging.filter(({ id }) => id !== model).map(({ id }) => `${id}.`);
  const own = pickFixed(fixed, (name) => !others.some((prefix) => name.startsWith(prefix)));
  return { algorithm, regularizers: regularizers.map(({ id }) => id), model, fixed: own };
}

/** A run as selection takes it, once for each of its models; evaluations that are not whole are left out and told. */
export function evaluatedRuns({ folder, settings, records }: StoredRun): { runs: EvaluatedRun[]; notes: string[] } {
  const notes: string[] = [];
  const runs = Array.from(evaluationsOf(records), ([model, all]): EvaluatedRun => {
    const evaluations = all.filter((evaluation) => {
      const missing = missingAccuracies(evaluation, settings);
      if (missing.length === 0) return true;
      const shown = missing.slice(0, 3).join(", ") + (missing.length > 3 ? ", …" : "");
      notes.push(`${folder}: step ${evaluation.step} of ${model} was left out: no accuracy of ${shown}`);
      return false;
    });
    const { domains, testDomains, trialSeed, hparamsSeed } = settings;
    const method = methodOf(settings, model);
    return {
      source: folder,
      format: "nudge",
      dataset: datasetIn(settings),
      domains,
      testDomains,
      method,
      trialSeed,
      hparamsSeed,
      evaluations,
    };
  });
  return { runs: runs.filter(({ evaluations }) => evaluations.length > 0), notes };
}
