/**
 * Everything there is to report on in some folders: runs of ours, of DomainBed and of SWAD's descendants, at any depth
 * up to a few levels. What is none of these is passed over and told; one broken run does not cost the others.
 */

import { closeSync, existsSync, openSync, readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import { byCodePoint } from "../data/code-point-order.js";
import { DataError } from "../errors.js";
import { RESULTS_FILE, readDomainBed } from "./domainbed.js";
import { type EvaluatedRun, methodKey } from "./evaluated-run.js";
import { evaluatedRuns, isRunFolder, readRun, type StoredRun } from "./run.js";
import { readSwad } from "./swad.js";

export interface Results {
  /** In the order of folder names. */
  readonly runs: readonly EvaluatedRun[];
  /** Runs of ours, for those who need more than accuracies. */
  readonly stored: readonly StoredRun[];
  /** What was left out, and why. */
  readonly notes: readonly string[];
}

/** Deep enough for a folder of sweeps of runs. */
const DEEPEST = 4;

/** Reads all runs in some folders, each of which may be a run itself. */
export function readResults(folders: readonly string[]): Results {
  const reader = new Reader();
  for (const folder of folders) {
    if (!existsSync(folder)) throw new DataError(`${folder}: no such folder. Give a folder of runs, or one run's`);
    if (!reader.visit(folder)) reader.notes.push(`${folder}: no runs in it`);
  }
  const { runs, notes } = withoutDuplicates(reader);
  return { runs, stored: reader.stored, notes: [...reader.notes, ...notes] };
}

class Reader implements Results {
  readonly runs: EvaluatedRun[] = [];
  readonly stored: StoredRun[] = [];
  readonly notes: string[] = [];
  /** Whether there were runs in it, by folder: each is read once, also where links lead to it again. */
  private readonly visited = new Map<string, boolean>();

  /** Reads a folder and those below it; returns whether there is any run. */
  visit(folder: string, depth = 0): boolean {
    const place = realpathSync(folder);
    const before = this.visited.get(place);
    if (before !== undefined) return before;
    this.visited.set(place, false);
    let found = true;
    try {
      const results = join(folder, RESULTS_FILE);
      if (isRunFolder(folder)) this.readOwn(folder);
      else if (existsSync(results)) this.readOther(results);
      else found = this.descend(folder, depth);
    } catch (error) {
      if (!(error instanceof DataError) && !(error as NodeJS.ErrnoException).code) throw error;
      this.notes.push(`left out: ${(error as Error).message}`);
    }
    this.visited.set(place, found);
    return found;
  }

  private descend(folder: string, depth: number): boolean {
    const names = readdirSync(folder)
      .filter((name) => !name.startsWith("."))
      .sort(byCodePoint);
    const isFolder = (name: string): boolean =>
      statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === true;
    const foreign = names.filter((name) => !isFolder(name));
    if (foreign.length > 0) {
      const more = foreign.length > 4 ? ` and ${foreign.length - 4} more` : "";
      const are = foreign.length === 1 ? "is no run" : "are no runs";
      this.notes.push(`${folder}: passed over ${foreign.slice(0, 4).join(", ")}${more}, which ${are}`);
    }
    if (depth === DEEPEST) return false;
    return names.filter(isFolder).reduce((any, name) => this.visit(join(folder, name), depth + 1) || any, false);
  }

  private readOwn(folder: string): void {
    const run = readRun(folder);
    const { runs, notes } = evaluatedRuns(run);
    this.stored.push(run);
    this.runs.push(...runs);
    this.notes.push(...run.notes, ...notes);
  }

  private readOther(path: string): void {
    const { runs, notes } = isSwad(path) ? readSwad(path) : readDomainBed(path);
    this.runs.push(...runs);
    this.notes.push(...notes);
  }
}

/** SWAD's trainer writes under which test environments a line was made; DomainBed's has only the arguments. */
function isSwad(path: string): boolean {
  const fd = openSync(path, "r");
  try {
    const start = Buffer.alloc(1 << 16);
    return start.subarray(0, readSync(fd, start)).includes('"real_test_envs"');
  } finally {
    closeSync(fd);
  }
}

/**
 * Two runs of ours with the same dataset, method, seeds of trial and hyperparameters, and test domains would compete as
 * if they were one; the finished one is kept, else the first. DomainBed's are kept as its own collector keeps them.
 */
function withoutDuplicates({ runs, stored }: Results): { runs: EvaluatedRun[]; notes: string[] } {
  const done = new Set(stored.filter((run) => run.done).map(({ folder }) => folder));
  const keyOf = ({ dataset, testDomains, method, trialSeed, hparamsSeed }: EvaluatedRun): string =>
    JSON.stringify([dataset, [...testDomains].sort(), methodKey(method), trialSeed, hparamsSeed]);
  const kept = new Map<string, EvaluatedRun>();
  const own = runs.filter(({ format }) => format === "nudge");
  for (const run of [...own.filter(({ source }) => done.has(source)), ...own]) {
    if (!kept.has(keyOf(run))) kept.set(keyOf(run), run);
  }
  const left = new Set(own.filter((run) => kept.get(keyOf(run)) !== run));
  const notes = Array.from(
    left,
    (run) =>
      `${run.source}: left out: ${kept.get(keyOf(run))!.source} is a run of the same setting ` +
      `(${methodKey(run.method)}, trial ${run.trialSeed}). For more trials, change the trial seed`,
  );
  return { runs: runs.filter((run) => !left.has(run)), notes };
}
