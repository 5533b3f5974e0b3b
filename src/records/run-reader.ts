/**
 * Reads run folders by the hundred thousand with little memory: accuracies as numbers in arrays, values that runs share
 * once, and records only on request.
 */

import { join } from "node:path";
import type { Assessment } from "../analysis/assessment.js";
import { storedKeys } from "../declared-settings/stored.js";
import type { StoredFiles } from "../files/stored-files.js";
import type { EvaluatedRun, Method, StepEvaluation } from "./evaluated-run.js";
import { datasetIn } from "./own-pictures.js";
import type { RunRecord } from "./record.js";
import {
  DONE_FILE,
  ESTIMATE_FILE,
  evaluatedRuns,
  methodOf,
  ownAssessment,
  parseSettings,
  RECORDS_FILE,
  type RunSettings,
  readRun,
  SETTINGS_FILE,
  type StoredRun,
} from "./run.js";
import { type AccuracyScan, type PackedAccuracies, unpack } from "./scan-accuracies.js";
import { recordsIn } from "./store.js";

/** A message about what was read. */
export interface Note {
  /** `not evaluated`: the run has no records yet. `damaged`: some of its records could not be used. `skipped`: something is no run. */
  readonly kind: "not evaluated" | "damaged" | "skipped";
  /** The folder of the run it is about. */
  readonly run: string | null;
  readonly text: string;
}

/** A run folder for reports: the run, its models, and problems. */
export interface RunResult {
  readonly stored: StoredRun;
  readonly runs: readonly EvaluatedRun[];
  readonly notes: readonly Note[];
}

const NONE: readonly string[] = [];

/** The number of characters of record files that are cached for requests beyond accuracies. */
const MOST_KEPT = 1 << 25;

/** The settings of a run for reports and for the list of runs. */
const READ: readonly string[] = [
  ...storedKeys,
  ...["dataset", "domains", "allDomains", "inputShape", "splitHash", "pictures", "hparams", "plugins", "facts"],
  ...["hash", "fixed", "combination", "datasetOptions", "weightsHash", "variant"],
];

const EMPTY: object = JSON.parse(`{${READ.map((name) => `"${name}":0`).join()}}`);

/** Reads run folders one after the other. */
export class RunReader {
  private kept = 0;
  private readonly shared = new Map<string, unknown>();

  /** Returns one shared value for equal values. */
  private once<T>(value: T): T {
    if (value === null || (typeof value !== "object" && typeof value !== "string")) return value;
    if (Array.isArray(value) && value.length === 0) return NONE as T;
    const key = typeof value === "string" ? value : JSON.stringify(value);
    const known = this.shared.get(key);
    if (known !== undefined && typeof known === typeof value) return known as T;
    this.shared.set(key, value);
    return value;
  }

  private readonly methods = new Map<string, { readonly settings: RunSettings; readonly method: Method }>();

  /** The method of a model. Most runs have the same parts as the last run of their algorithm, which `once` made identical. */
  private method(settings: RunSettings, model: string): Method {
    const key = `${settings.algorithm} ${model}`;
    const last = this.methods.get(key);
    const isSame =
      last !== undefined &&
      last.settings.regularizers === settings.regularizers &&
      last.settings.averaging === settings.averaging &&
      last.settings.fixed === settings.fixed;
    if (isSame) return last.method;
    const method = this.once(methodOf(settings, model));
    this.methods.set(key, { settings, method });
    return method;
  }

  private lastSteps: readonly number[] = [];

  /** The same list for equal lists in a row. */
  private stepsOnce(steps: readonly number[]): readonly number[] {
    const { lastSteps: last } = this;
    const isSame = steps.length === last.length && steps.every((step, i) => step === last[i]);
    if (!isSame) this.lastSteps = this.once(steps);
    return this.lastSteps;
  }

  /** The settings of a run; undefined if there are none. `adapt` adds facts that only its sweep knows. */
  settings(files: StoredFiles, adapt = (settings: RunSettings) => settings): RunSettings | undefined {
    const text = files.text(SETTINGS_FILE);
    return text === undefined ? undefined : this.compact(adapt(parseSettings(join(files.path, SETTINGS_FILE), text)));
  }

  /**
   * A run of which the accuracies were scanned, where all of its records are sound; else it is read again, carefully. `text` is
   * that of its records, if it is at hand.
   */
  result(files: StoredFiles, settings: RunSettings, scan: AccuracyScan | undefined, text?: string): RunResult {
    const packed = scan?.packed(settings.testDomains);
    if (packed === undefined) {
      const stored = readRun(files, settings);
      const { runs, notes } = evaluatedRuns(stored);
      const kind = files.has(RECORDS_FILE) ? "damaged" : "not evaluated";
      const texts = [...stored.notes, ...notes];
      return { stored, runs, notes: texts.map((text) => ({ kind, run: files.path, text })) };
    }
    const runs: EvaluatedRun[] = [];
    for (const [model, { steps, values }] of packed)
      runs.push(
        new PackedRun(files.path, settings, this.method(settings, model), { steps: this.stepsOnce(steps), values }),
      );
    this.kept += text?.length ?? 0;
    return { stored: new LazyRun(files, settings, this.kept > MOST_KEPT ? undefined : text), runs, notes: [] };
  }

  /**
   * The settings without what only repeating the run needs, with one object or text for all runs that have it alike. All
   * are copies of one object, because objects of one shape are a fifth as large as others.
   */
  private compact(settings: RunSettings): RunSettings {
    const all = settings as unknown as Readonly<Record<string, unknown>>;
    const light: Record<string, unknown> = { ...EMPTY };
    for (const name of READ) light[name] = name === "hparams" ? all[name] : this.once(all[name]); // a search has different values in every run
    return light as unknown as RunSettings;
  }
}

/** A run whose evaluations are created on request. */
class PackedRun implements EvaluatedRun {
  readonly format = "nudge";
  readonly dataset: string;
  readonly domains: readonly string[];
  readonly allDomains?: readonly string[];
  readonly testDomains: readonly string[];
  readonly trialSeed: number;
  readonly hparamsSeed: number;

  constructor(
    readonly source: string,
    settings: RunSettings,
    readonly method: Method,
    private readonly packed: PackedAccuracies,
  ) {
    this.dataset = datasetIn(settings);
    this.domains = settings.domains;
    this.allDomains = settings.allDomains;
    this.testDomains = settings.testDomains;
    this.trialSeed = settings.trialSeed;
    this.hparamsSeed = settings.hparamsSeed;
  }

  get evaluations(): StepEvaluation[] {
    return unpack(this.packed, this.domains);
  }
}

/** A run whose records are read again, or parsed from their text, on request. */
class LazyRun implements StoredRun {
  readonly folder: string;
  readonly done: boolean;
  readonly notes = NONE;

  constructor(
    private readonly files: StoredFiles,
    readonly settings: RunSettings,
    private readonly text: string | undefined,
  ) {
    this.folder = files.path;
    this.done = files.has(DONE_FILE);
  }

  get begun(): number {
    return this.files.time(SETTINGS_FILE);
  }

  get assessment(): Assessment | undefined {
    return ownAssessment(this.files, this.settings);
  }

  get estimate(): Assessment | undefined {
    return ownAssessment(this.files, this.settings, ESTIMATE_FILE);
  }

  get records(): readonly RunRecord[] {
    return recordsIn(join(this.folder, RECORDS_FILE), this.text ?? this.files.text(RECORDS_FILE) ?? "").records;
  }
}
