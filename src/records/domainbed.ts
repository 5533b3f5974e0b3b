/**
 * DomainBed's result files, `results.jsonl`: one object per checkpoint with the arguments, the hyperparameters and the
 * accuracies as `env0_in_acc` (facebookresearch/DomainBed b93c22a; files since 2020 have the same form). They are read
 * into the form that selection uses, and written from runs of NUDGE, so that DomainBed's collector reads both.
 */

import { show } from "../files/stored-json.js";
import { type PythonJson, pythonJson } from "../reference/python-json.js";
import { PythonFloat } from "../reference/python-number.js";
import { localNames, referenceAlgorithms, referenceDataset } from "./domainbed-names.js";
import type { DomainAccuracy, EvaluatedRun, StepEvaluation } from "./evaluated-run.js";
import { NOTHING_FIXED } from "./fixed-settings.js";
import { isObject, notesOn, readJsonLines } from "./json-lines.js";
import { ACCURACY, CURRENT } from "./record.js";
import type { SettingScalar, StoredRun } from "./run.js";

export const RESULTS_FILE = "results.jsonl";

export interface ReadResultsFile {
  readonly runs: EvaluatedRun[];
  readonly notes: string[];
}

/**
 * The fields of a line that selection reads. The run is identified by the line, because several runs may have appended
 * to a file.
 */
interface Line {
  readonly run: Omit<EvaluatedRun, "evaluations">;
  readonly evaluation: StepEvaluation;
  readonly hparams: NonNullable<EvaluatedRun["hparams"]>;
}

/** Reads a DomainBed result file. Unusable lines are skipped and reported. */
export function readDomainBed(path: string): ReadResultsFile {
  return readResultLines(path, (line) => toLine(path, line));
}

/**
 * Reads a file of result lines with `toLine`, which returns the run and evaluation of a line, or a message about the
 * problem.
 */
export function readResultLines(
  path: string,
  toLine: (line: Readonly<Record<string, unknown>>) => Line | string,
): ReadResultsFile {
  const file = readJsonLines(path, { python: true });
  const notes = notesOn(path, file);
  const runs = new Map<string, EvaluatedRun & { evaluations: StepEvaluation[] }>();
  for (const { number, value } of file.lines) {
    const line = isObject(value) ? toLine(value) : "it is not an object";
    if (typeof line === "string") {
      notes.push(`${path}: line ${number} was skipped: ${line}`);
      continue;
    }
    const key = JSON.stringify(line.run);
    const run = runs.get(key) ?? { ...line.run, hparams: line.hparams, evaluations: [] };
    run.evaluations.push(line.evaluation);
    runs.set(key, run);
  }
  return { runs: [...runs.values()], notes };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function toLine(path: string, line: Readonly<Record<string, unknown>>): Line | string {
  const { args } = line;
  if (!isObject(args)) return `args is ${show(args)}, not an object`;
  return toResultLine({ path, line, args, testPlaces: args.test_envs, suffix: "_acc", format: "domainbed" });
}

/** A line of DomainBed or SWAD, which differ in the suffix of the keys and in the position of the held-out domains. */
export function toResultLine({
  path,
  line,
  args,
  testPlaces,
  suffix,
  format,
}: {
  path: string;
  line: Readonly<Record<string, unknown>>;
  args: Readonly<Record<string, unknown>>;
  testPlaces: unknown;
  suffix: "_acc" | "";
  format: EvaluatedRun["format"];
}): Line | string {
  const { dataset, algorithm, trial_seed: trialSeed, hparams_seed: hparamsSeed = 0 } = args;
  const { step } = line;
  if (typeof dataset !== "string") return `the dataset is ${show(dataset)}`;
  if (typeof algorithm !== "string") return `the algorithm is ${show(algorithm)}`;
  if (!isCount(trialSeed)) return `the trial seed is ${show(trialSeed)}`;
  if (!isCount(hparamsSeed)) return `the hparams seed is ${show(hparamsSeed)}`;
  if (!isCount(step)) return `the step is ${show(step)}`;
  if (!Array.isArray(testPlaces) || testPlaces.length === 0 || !testPlaces.every(isCount))
    return `the test environments are ${show(testPlaces)}`;
  // Environments are counted while there are keys, as in DomainBed's selection.
  let count = 0;
  while (`env${count}_out${suffix}` in line) count++;
  const outside = testPlaces.find((place) => place >= count);
  if (outside !== undefined) return `there is no env${outside}_out${suffix} of the test environment`;
  const names = localNames(dataset, count);
  const accuracy = new Map<string, DomainAccuracy>();
  for (const [i, domain] of names.domains.entries()) {
    const [inside, out] = [line[`env${i}_in${suffix}`], line[`env${i}_out${suffix}`]];
    if (typeof out !== "number") return `env${i}_out${suffix} is ${show(out)}`;
    if (typeof inside !== "number" && testPlaces.includes(i)) return `env${i}_in${suffix} is ${show(inside)}`;
    accuracy.set(domain, typeof inside === "number" ? { in: inside, out } : { out });
  }
  const method = { algorithm, regularizers: [], model: CURRENT, fixed: NOTHING_FIXED };
  const asked = Object.fromEntries(COMPARED.map((name) => [name, scalarOf(args[name])]));
  const testDomains = testPlaces.map((place: number) => names.domains[place]);
  return {
    run: { source: path, format, ...names, testDomains, method, trialSeed, hparamsSeed, arguments: asked },
    evaluation: { step, accuracy },
    hparams: scalarsOf(line.hparams),
  };
}

/** The arguments of a run that make it another row: all but its place in the table, paths, and what only saves more. */
const COMPARED = ["steps", "checkpoint_freq", "holdout_fraction", "uda_holdout_fraction", "task", "hparams"] as const;

const scalarOf = (value: unknown): SettingScalar =>
  value === undefined || value === null ? null : value instanceof Object ? JSON.stringify(value) : (value as string);

/** The primitive values of an object; empty for other values. */
function scalarsOf(value: unknown): Record<string, SettingScalar> {
  const entries = isObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, SettingScalar] => !(entry[1] instanceof Object)));
}

export interface WriteOptions {
  /** The name of the row; by default DomainBed's name of the algorithm with the ids of the regularizers. */
  algorithm?: string;
  /** The model whose accuracies are written (default: the trained one). */
  model?: string;
  /** DomainBed's names of the hyperparameters (default: ours). */
  hparams?: Readonly<Record<string, PythonJson>>;
  dataDir?: string;
  outputDir?: string;
}

/** A run as the text of a DomainBed `results.jsonl`, with the content of the records only: no times, no memory. */
export function toDomainBed({ settings, records }: StoredRun, options: WriteOptions = {}): string {
  const { model = CURRENT } = options;
  const place = (domain: string): number => settings.domains.indexOf(domain);
  const lines = new Map<number, Record<string, PythonJson>>();
  for (const record of records) {
    if (record.model !== model) continue;
    const line = lines.get(record.step) ?? {};
    lines.set(record.step, line);
    const { domain, split, metric, value } = record;
    if (!Number.isFinite(value)) continue; // the key is omitted, because only Python's JSON reader accepts NaN
    if (domain === null) line[metric] = new PythonFloat(value);
    else if (metric === ACCURACY && split !== null && split !== "uda")
      line[`env${place(domain)}_${split}_acc`] = new PythonFloat(value);
    // DomainBed numbers the uda splits separately.
    else if (metric === ACCURACY && split === "uda")
      line[`env${settings.testDomains.indexOf(domain)}_uda_acc`] = new PythonFloat(value);
  }
  const args: PythonJson = {
    algorithm: options.algorithm ?? referenceName(settings.algorithm, settings.regularizers),
    checkpoint_freq: settings.evaluateEvery ?? null,
    data_dir: options.dataDir ?? "",
    dataset: referenceDataset(settings.dataset)?.name ?? settings.dataset,
    holdout_fraction: new PythonFloat(settings.holdout ?? 0.2),
    hparams: null,
    hparams_seed: settings.hparamsSeed,
    output_dir: options.outputDir ?? "",
    save_model_every_checkpoint: false,
    seed: settings.seed,
    skip_model_save: false,
    steps: settings.steps ?? null,
    task: "domain_generalization",
    test_envs: settings.testDomains.map(place),
    trial_seed: settings.trialSeed,
    uda_holdout_fraction: 0,
  };
  const hparams = options.hparams ?? settings.hparams;
  return Array.from(lines, ([step, line]) => `${pythonJson({ ...line, step, hparams, args })}\n`).join("");
}

/** `group-dro` is GroupDRO there. A regularizer makes it another row. */
function referenceName(algorithm: string, regularizers: readonly { id: string }[]): string {
  const plain = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  const name = referenceAlgorithms.find((each) => plain(each) === plain(algorithm)) ?? algorithm;
  return [name, ...regularizers.map(({ id }) => id)].join("+");
}
