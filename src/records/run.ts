/**
 * The run folder for readers: `settings.json`, `records.jsonl` and `done`. Tables and dashboards may read settings that
 * another version wrote, so they are validated; unknown keys are kept.
 */

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import * as v from "valibot";
import { hparamName } from "../algorithms/shared-hparams.js";
import { ASSESSMENT_FILE, type Assessment, parseAssessment } from "../analysis/assessment.js";
import { declared } from "../declared-settings/declared.js";
import { type PluginSettings, type StoredKeys, storedEntries } from "../declared-settings/stored.js";
import type { PluginFile } from "../definitions.js";
import { DataError } from "../errors.js";
import { readText } from "../files/open-file.js";
import { filesOf, type StoredFiles } from "../files/stored-files.js";
import {
  nameSchema,
  namesSchema,
  openObject,
  parseStored,
  type Schema,
  scalarsSchema,
  wholeSchema,
} from "../files/stored-json.js";
import { type EvaluatedRun, evaluationsOf, type Method, missingAccuracies } from "./evaluated-run.js";
import { factsSchema, type RunFacts } from "./facts.js";
import { type FixedSettings, pickFixed, type SettingScalar } from "./fixed-settings.js";
import { datasetIn, isOwnDataset } from "./own-pictures.js";
import type { RunRecord } from "./record.js";
import { recordsIn } from "./store.js";

export type { PluginSettings, SettingScalar };

/** The content of `settings.json`: the declared settings, of which some are required, and what else selection needs. */
export interface RunSettings extends Omit<StoredKeys, Required> {
  readonly dataset: string;
  /** The domains of the run, in the dataset's order. */
  readonly domains: readonly string[];
  /** The domains of the dataset, if some are not used because a related one is held out. */
  readonly allDomains?: readonly string[];
  readonly testDomains: readonly string[];
  readonly algorithm: string;
  readonly regularizers: readonly PluginSettings[];
  /** The averaging methods of the run. */
  readonly averaging: readonly PluginSettings[];
  /** The index of the hyperparameter draw; 0 means the defaults. */
  readonly hparamsSeed: number;
  /** The seed of the split. */
  readonly trialSeed: number;
  /** The seed of all other randomness. */
  readonly seed: number;
  /** Every hyperparameter, resolved. */
  readonly hparams: Readonly<Record<string, SettingScalar>>;
  /**
   * Explicit settings that change numbers, by unambiguous names (`lr`, `mixup.alpha`). Runs with different values are
   * different rows; a value that equals the default or the draw counts too.
   */
  readonly fixed: FixedSettings;
  /** For runs from before `fixed` existed: the values that differed from the default or the draw of the run. */
  readonly given?: FixedSettings;
  readonly datasetOptions?: FixedSettings;
  readonly inputShape?: readonly number[];
  /** The hash of the starting weights; null without a file. */
  readonly weightsHash?: string | null;
  readonly variant?: object;
  /** The fingerprint of the split, and of the pictures if they are the user's own. */
  readonly splitHash?: string;
  readonly pictures?: string;
  readonly plugins?: readonly PluginFile[];
  /** What the id of the run does not have; absent in runs of earlier versions. */
  readonly facts?: RunFacts;
  /** The id of the run; files of other programs can lack it. */
  readonly hash?: string;
  /** The ids of the runs in a soup or an ensemble; `taken` are those that each of its models combines. */
  readonly combination?: {
    readonly kind: string;
    readonly members: readonly string[];
    readonly taken?: Readonly<Record<string, readonly string[]>>;
    /** The number of runs that were planned for it. Some may have failed. */
    readonly of?: number;
  };
}

type Required = "testDomains" | "algorithm" | "regularizers" | "averaging" | "hparamsSeed" | "trialSeed" | "seed";

export const SETTINGS_FILE = "settings.json";
export const RECORDS_FILE = "records.jsonl";
/** The file with the estimate of a model on own pictures. */
export const ESTIMATE_FILE = "estimate.json";
/** Written last: without it, the run is in progress or was interrupted. */
export const DONE_FILE = "done";
/** The folder of a run's second training, on all pictures, and the model name of its rows. */
export const RETRAINED = "retrained";

export interface StoredRun {
  /** Its folder, or the pack and the path in it. */
  readonly folder: string;
  readonly settings: RunSettings;
  readonly records: readonly RunRecord[];
  readonly done: boolean;
  /** When its settings were written, in milliseconds since 1970. */
  readonly begun?: number;
  /** Problems that did not prevent reading, as text. */
  readonly notes: readonly string[];
  /**
   * For own pictures: the assessment of its model on pictures that were not used for training; undefined if it is
   * unknown.
   */
  readonly assessment?: Assessment;
  /** For a model that was trained on all domains: the estimate from similar runs that each held out one domain. */
  readonly estimate?: Assessment;
}

/** The id with which the name of a run folder of a sweep begins; empty for other names. */
export const idInName = (folder: string): string => /^[0-9a-f]{16}(?=-|$)/.exec(basename(folder))?.[0] ?? "";

/** The id of a run: that of its settings, or of its folder if an earlier version wrote no id into them. */
export const runIdOf = ({ folder, settings }: Pick<StoredRun, "folder" | "settings">): string =>
  settings.hash ?? idInName(folder);

/** Whether a folder is a run folder of NUDGE. */
export const isRunFolder = (folder: string): boolean => existsSync(join(folder, SETTINGS_FILE));

/** The note on a run that has no records. */
export const notEvaluated = (folder: string): string =>
  `${folder}: no ${RECORDS_FILE} yet: the run has not been evaluated`;

/** Reads a run by its folder or its files. A run without an evaluation has no records, which is noted. */
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

/** The assessment of a run on own pictures. Benchmarks have none, because they are reported by their protocol. */
export function ownAssessment(
  files: StoredFiles,
  { dataset }: RunSettings,
  file = ASSESSMENT_FILE,
): Assessment | undefined {
  if (!isOwnDataset(dataset) || !files.has(file)) return undefined;
  try {
    return parseAssessment(join(files.path, file), files.text(file) ?? "");
  } catch (error) {
    if (error instanceof DataError) return undefined; // treated as missing, which tables report
    throw error;
  }
}

/** Reads and checks a run's settings. */
export function readSettings(path: string): RunSettings {
  let text: string;
  try {
    text = readText(path);
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

/** The keys that every reader needs, and what is no declared setting. */
const entries = {
  dataset: nameSchema,
  domains: namesSchema,
  allDomains: v.optional(namesSchema),
  testDomains: namesSchema,
  algorithm: nameSchema,
  regularizers: storedEntries.regularizers as Schema<readonly PluginSettings[]>,
  averaging: storedEntries.averaging as Schema<readonly PluginSettings[]>,
  hparamsSeed: wholeSchema,
  trialSeed: wholeSchema,
  seed: wholeSchema,
  hparams: scalarsSchema,
  fixed: v.optional(scalarsSchema),
  given: v.optional(scalarsSchema),
  splitHash: v.optional(nameSchema),
  pictures: v.optional(nameSchema),
  facts: v.optional(factsSchema),
  hash: v.optional(nameSchema),
  combination: v.optional(
    v.object(
      {
        kind: nameSchema,
        members: namesSchema,
        of: v.optional(wholeSchema),
        taken: v.optional(v.record(v.string(), namesSchema, "ids by model")),
      },
      "{ kind, members }",
    ),
  ),
  plugins: v.optional(
    v.array(
      v.looseObject(
        {
          file: v.string("a path"),
          sha256: v.string("a hash"),
          titles: v.optional(v.record(v.string(), v.string("a title"), "titles by id")),
        },
        "{ file, sha256 }",
      ),
      "a list of { file, sha256 }",
    ),
  ),
};

/** The declared settings are checked too. Other keys are kept. */
const settingsSchema: Schema<RunSettings> = v.pipe(
  openObject({ ...entries, ...storedEntries, ...entries } as typeof entries),
  v.forward(
    v.check(({ domains, testDomains }) => testDomains.every((domain) => domains.includes(domain)), "among the domains"),
    ["testDomains"],
  ),
  v.transform((settings) => Object.assign(settings, { fixed: settings.fixed ?? fixedBefore(settings) })),
);

/** The explicit settings of a run from before `fixed` existed, as far as they are known. */
function fixedBefore({ given = {}, algorithm, hparams }: Omit<RunSettings, "fixed">): FixedSettings {
  const nameOf = (name: string): string => (Object.hasOwn(hparams, name) ? hparamName(name, algorithm) : name);
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [nameOf(name), value]));
}

/** The row of a run's model. The settings of an average or of T3A do not affect the rows of the other models. */
export function methodOf({ algorithm, regularizers, averaging, fixed }: RunSettings, model: string): Method {
  const parts = model.split("+");
  const others = averaging.filter(({ id }) => !parts.includes(id)).map(({ id }) => `${id}.`);
  const own = pickFixed(
    fixed,
    (name) => !others.some((prefix) => name.startsWith(prefix)) && parts.includes(declared[name]?.model ?? parts[0]),
  );
  return { algorithm, regularizers: regularizers.map(({ id }) => id), model, fixed: own };
}

/** A run for selection, once for each of its models. Incomplete evaluations are skipped and reported. */
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
    const { domains, allDomains, testDomains, trialSeed, hparamsSeed } = settings;
    const method = methodOf(settings, model);
    return {
      source: folder,
      format: "nudge",
      dataset: datasetIn(settings),
      domains,
      ...(allDomains && { allDomains }),
      testDomains,
      method,
      trialSeed,
      hparamsSeed,
      evaluations,
    };
  });
  return { runs: runs.filter(({ evaluations }) => evaluations.length > 0), notes };
}
