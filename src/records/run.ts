/**
 * The run folder as its readers need it: `settings.json`, `records.jsonl` and `done`. Settings are read from disk by
 * tables and dashboards that know nothing of the program that wrote them, so they are checked; keys not named here are
 * kept.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { hparamName } from "../algorithms/shared-hparams.js";
import { ASSESSMENT_FILE, type Assessment, parseAssessment } from "../analysis/assessment.js";
import { DataError } from "../errors.js";
import { filesOf, type StoredFiles } from "../files/stored-files.js";
import {
  nameSchema,
  namesSchema,
  numberSchema,
  parseStored,
  type Schema,
  scalarsSchema,
  wholeSchema,
} from "../files/stored-json.js";
import { type EvaluatedRun, evaluationsOf, type Method, missingAccuracies } from "./evaluated-run.js";
import { type FixedSettings, pickFixed, type SettingScalar } from "./fixed-settings.js";
import { datasetIn, isOwnDataset } from "./own-pictures.js";
import type { RunRecord } from "./record.js";
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
  /** What this is made of, where it is no run but a soup or an ensemble of runs, by their ids. */
  readonly combination?: { readonly kind: string; readonly members: readonly string[] };
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
export function readRun(place: string | StoredFiles, known?: RunSettings): StoredRun {
  const files = filesOf(place);
  const folder = files.path;
  const settings = known ?? parseSettings(join(folder, SETTINGS_FILE), settingsText(files));
  const text = files.text(RECORDS_FILE);
  const { records, notes } =
    text === undefined ? { records: [], notes: [notEvaluated(folder)] } : recordsIn(join(folder, RECORDS_FILE), text);
  const assessment = ownAssessment(files, settings);
  const estimate = ownAssessment(files, settings, ESTIMATE_FILE);
  return {
    folder,
    settings,
    records,
    done: files.has(DONE_FILE),
    begun: files.time(SETTINGS_FILE),
    notes,
    ...(assessment && { assessment }),
    ...(estimate && { estimate }),
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
    return parseAssessment(join(files.path, file), files.text(file) ?? "");
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
export const parseSettings = (path: string, text: string): RunSettings =>
  parseStored(settingsSchema, text, { path, what: WHAT });

const WHAT = "the settings of a run";

const pluginsSchema = v.array(
  v.object({ id: nameSchema, settings: scalarsSchema }, "{ id, settings }"),
  "a list of { id, settings }",
);

/** What every reader needs; the other keys are kept. */
const settingsSchema: Schema<RunSettings> = v.pipe(
  v.looseObject({
    dataset: nameSchema,
    domains: namesSchema,
    testDomains: namesSchema,
    algorithm: nameSchema,
    regularizers: pluginsSchema,
    averaging: pluginsSchema,
    hparamsSeed: wholeSchema,
    trialSeed: wholeSchema,
    seed: wholeSchema,
    hparams: scalarsSchema,
    fixed: v.optional(scalarsSchema),
    given: v.optional(scalarsSchema),
    combination: v.optional(v.object({ kind: nameSchema, members: namesSchema }, "{ kind, members }")),
    steps: v.optional(numberSchema),
    evaluateEvery: v.optional(numberSchema),
    holdout: v.optional(numberSchema),
    data: v.optional(nameSchema),
    root: v.nullish(v.string("a path")),
    plugins: v.optional(v.array(v.looseObject({ file: v.string("a path") }, "{ file }"), "a list of { file }")),
  }),
  v.forward(
    v.check(({ domains, testDomains }) => testDomains.every((domain) => domains.includes(domain)), "among the domains"),
    ["testDomains"],
  ),
  v.transform((settings) => Object.assign(settings, { fixed: settings.fixed ?? fixedBefore(settings) })),
);

/** What was set by hand in a run from before there was `fixed`, as far as it tells. */
function fixedBefore({ given = {}, algorithm, hparams }: Omit<RunSettings, "fixed">): FixedSettings {
  const nameOf = (name: string): string => (Object.hasOwn(hparams, name) ? hparamName(name, algorithm) : name);
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [nameOf(name), value]));
}

/** The row of a run's model. What was set of an average or of T3A is no matter to the rows of the others. */
export function methodOf({ algorithm, regularizers, averaging, fixed }: RunSettings, model: string): Method {
  const parts = model.split("+");
  const others = averaging.filter(({ id }) => !parts.includes(id)).map(({ id }) => `${id}.`);
  const own = pickFixed(
    fixed,
    (name) => !others.some((prefix) => name.startsWith(prefix)) && (name !== "t3a" || parts.includes("t3a")),
  );
  return { algorithm, regularizers: regularizers.map(({ id }) => id), model, fixed: own };
}

/** A run as selection takes it, once for each of its models; incomplete evaluations are skipped and reported. */
export function evaluatedRuns({ folder, settings, records }: StoredRun): { runs: EvaluatedRun[]; notes: string[] } {
  const notes: string[] = [];
  const runs = Array.from(evaluationsOf(records), ([model, all]): EvaluatedRun => {
    const evaluations = all.filter((evaluation) => {
      const missing = missingAccuracies(evaluation, settings);
      if (missing.length === 0) return true;
      const shown = missing.slice(0, 3).join(", ") + (missing.length > 3 ? ", …" : "");
      notes.push(`${folder}: step ${evaluation.step} of ${model} was skipped: no accuracy of ${shown}`);
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
