/**
 * Packs a study: chooses its files and their content. Weights, checkpoints, logs and figures are not packed; the files
 * that reports and the dashboard read are.
 */

import { basename } from "node:path";
import { ASSESSMENT_FILE } from "../analysis/assessment.js";
import { DataError } from "../errors.js";
import { type StoredFiles, textLines } from "../files/stored-files.js";
import { DONE_FILE, ESTIMATE_FILE, RECORDS_FILE, SETTINGS_FILE } from "../records/run.js";
import { ATTEMPTS, CANCELLED, PLAN_FILE, SWEEP_FILE } from "../sweep/sweep-folder.js";
import { openStudy, type StudyRun } from "./study.js";
import { type PackedEntry, type PackedUnit, writePack } from "./write-pack.js";

/** The files of a run that are packed. The settings come first, because they mark the start of a run. */
const RUN_FILES = [
  SETTINGS_FILE,
  RECORDS_FILE,
  "timing.jsonl",
  "environment.json",
  ASSESSMENT_FILE,
  ESTIMATE_FILE,
  "failure/failure.json",
  DONE_FILE,
];

export interface PackWishes {
  /** Pack only records of these metrics. */
  readonly metrics?: readonly string[];
  /** Pack only finished runs. */
  readonly finished?: boolean;
  /** Remove paths and names of the machine on which the runs were made. */
  readonly anonymous?: boolean;
}

export interface Packed {
  readonly runs: number;
  /** The number of runs among these that are not finished. */
  readonly unfinished: number;
  readonly bytes: number;
  readonly notes: readonly string[];
}

/** Packs the runs of one study into a file. Equal runs and options give equal bytes. */
export function packStudy(places: readonly string[], out: string, wishes: PackWishes = {}): Packed {
  const { sweep, runs: all, notes } = openStudy(places);
  const isDone = ({ files }: StudyRun): boolean => files.has(DONE_FILE);
  const runs = wishes.finished ? all.filter(isDone) : all;
  if (runs.length === 0)
    throw new DataError(
      `pack: ${places.join(", ")}: ${all.length > 0 ? "none of its runs is done" : "no runs in it"}, so there is nothing to pack`,
    );
  const bytes = writePack(out, unitsOf(sweep, runs, wishes));
  return { runs: runs.length, unfinished: runs.filter((run) => !isDone(run)).length, bytes, notes };
}

function* unitsOf(
  sweep: StoredFiles | undefined,
  runs: readonly StudyRun[],
  wishes: PackWishes,
): Generator<PackedUnit> {
  if (sweep) yield { entries: sweepEntries(sweep, wishes), time: 0 };
  for (const run of runs) yield runUnit(run, wishes);
}

function sweepEntries(files: StoredFiles, wishes: PackWishes): PackedEntry[] {
  const { anonymous, metrics } = wishes;
  const toSweep = (sweep: Fields): Fields => ({
    ...(anonymous ? { ...sweep, requests: list(sweep.requests).map(anonymousRequest) } : sweep),
    ...(metrics && { metricsKept: metrics }),
  });
  const text = files.text(SWEEP_FILE) ?? "";
  const entries = [entryOf(SWEEP_FILE, anonymous || metrics ? json(toSweep(parsed(files, SWEEP_FILE))) : text)];
  if (files.has(PLAN_FILE)) entries.push(planEntry(files, anonymous));
  // The results of attempts contain names of machines and paths.
  if (anonymous) return entries;
  for (const folder of [ATTEMPTS, CANCELLED])
    for (const name of files.names(folder).sort())
      entries.push(entryOf(`${folder}/${name}`, files.text(`${folder}/${name}`) ?? ""));
  return entries;
}

/** A plan may not fit into memory, so it is read twice: for its size, and to pack it. */
function planEntry(files: StoredFiles, anonymous = false): PackedEntry {
  const toLine = (line: string): Buffer => Buffer.from(`${anonymous ? anonymousPlanLine(line) : line}\n`);
  function* content(): Generator<Buffer> {
    let lines: Buffer[] = [];
    for (const line of textLines(files.pieces(PLAN_FILE) ?? [], () => {}, `${files.path}/${PLAN_FILE}`)) {
      if (lines.push(toLine(line)) < LINES_A_PIECE) continue;
      yield Buffer.concat(lines);
      lines = [];
    }
    yield Buffer.concat(lines);
  }
  let size = 0;
  for (const piece of content()) size += piece.length;
  return { name: PLAN_FILE, size, content };
}

const LINES_A_PIECE = 1000;

function runUnit({ folder, files }: StudyRun, { metrics, anonymous }: PackWishes): PackedUnit {
  const entries = RUN_FILES.flatMap((name) => {
    const text = files.text(name);
    if (text === undefined) return [];
    const path = `${folder}/${name}`;
    if (name === RECORDS_FILE) return [entryOf(path, recordLines(files, wholeLines(text), metrics))];
    if (name.endsWith(".jsonl")) return [entryOf(path, wholeLines(text))];
    if (anonymous && name === SETTINGS_FILE) return [entryOf(path, json(anonymousSettings(parsed(files, name))))];
    if (anonymous && name === "environment.json") {
      const { host, ...environment } = parsed(files, name);
      return [entryOf(path, json(environment))];
    }
    return [entryOf(path, text)];
  });
  return { entries, time: startOf(files) };
}

/** The start of the run according to its own files, because file times differ between copies. */
function startOf(files: StoredFiles): number {
  const started = /"started":\s*"([^"]+)"/.exec(files.text("environment.json") ?? "")?.[1];
  const seconds = Math.floor(Date.parse(started ?? "") / 1000);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : 0;
}

/** Without an incomplete last line, which a running process may be writing. */
const wholeLines = (text: string): string => text.slice(0, text.lastIndexOf("\n") + 1);

function recordLines(files: StoredFiles, text: string, metrics: readonly string[] | undefined): string {
  if (!metrics) return text;
  const kept = text.split("\n").filter((line) => metrics.includes(/"metric":"([^"]+)"/.exec(line)?.[1] ?? ""));
  if (kept.length === 0 && text !== "")
    throw new DataError(`${files.path}: no record of ${metrics.join(", ")}, so nothing of this run would be packed`);
  return kept.map((line) => `${line}\n`).join("");
}

function entryOf(name: string, text: string): PackedEntry {
  const bytes = Buffer.from(text, "utf8");
  return { name, size: bytes.length, content: () => [bytes] };
}

type Fields = Record<string, unknown>;

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
const list = (value: unknown): Fields[] => (Array.isArray(value) ? value : []);

function parsed(files: StoredFiles, name: string): Fields {
  try {
    return JSON.parse(files.text(name) ?? "");
  } catch (cause) {
    throw new DataError(`${files.path}/${name}: could not be read: ${(cause as Error).message}`, { cause });
  }
}

/** The settings of a run without the paths of its files. */
function anonymousSettings({ request, ...settings }: Fields): Fields {
  const { weights } = settings;
  return {
    ...settings,
    ...("root" in settings && { root: null }),
    ...("cache" in settings && { cache: null }),
    ...(typeof weights === "string" && { weights: basename(weights) }),
    ...(request && typeof request === "object" ? { request: withoutPaths(request as Fields) } : {}),
  };
}

/** The settings that reproduce a run, without paths. */
const withoutPaths = ({ root, cache, weights, device, threads, ...rest }: Fields): Fields => rest;

const anonymousRequest = ({ given, ...asked }: Fields): Fields => ({
  ...asked,
  given: withoutPaths((given ?? {}) as Fields),
});

function anonymousPlanLine(line: string): string {
  const { cost, request, ...run } = JSON.parse(line) as Fields;
  return JSON.stringify({ ...run, request: withoutPaths((request ?? {}) as Fields) });
}
