/**
 * Reads everything to report on from folders and packs: runs of ours, of DomainBed and of SWAD's descendants, a few
 * levels deep. Other content is skipped and reported; one damaged run does not affect the others.
 */

import { closeSync, type Dirent, existsSync, openSync, readdirSync, readSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { byCodePoint } from "../data/code-point-order.js";
import { isPictureName } from "../data/folder-tree.js";
import { DataError } from "../errors.js";
import type { StoredFiles } from "../files/stored-files.js";
import { isPackName, PackFile } from "../pack/pack-file.js";
import { withoutChangedPictures } from "../records/changed-pictures.js";
import { RESULTS_FILE, readDomainBed } from "../records/domainbed.js";
import { type EvaluatedRun, methodKey } from "../records/evaluated-run.js";
import { notEvaluated, type StoredRun } from "../records/run.js";
import { RunReader } from "../records/run-reader.js";
import { readSwad } from "../records/swad.js";
import { FixedByHand } from "../sweep/fixed-by-hand.js";
import { type ReportedSweep, readReportedSweep } from "../sweep/reported-sweep.js";
import { isSweepFolder, readSweepFile, SWEEP_FILE, sweepPaths } from "../sweep/sweep-folder.js";

export interface Results {
  /** In the order of folder names. */
  readonly runs: readonly EvaluatedRun[];
  /** Our runs, for readers that need more than accuracies. */
  readonly stored: readonly StoredRun[];
  /** The sweeps of the runs. */
  readonly sweeps?: readonly ReportedSweep[];
  /** What was skipped, and why. */
  readonly notes: readonly string[];
}

/** Deep enough for a folder of sweeps of runs. */
const DEEPEST = 4;

/** Reads all runs in folders, each of which can be a run itself, and in packs. */
export function readResults(folders: readonly string[]): Results {
  const reader = new Reader();
  for (const folder of folders) {
    if (!existsSync(folder))
      throw new DataError(`${folder}: no such folder. Expected a folder of runs, a run folder or a packed study`);
    if (reader.visit(folder, realpathSync(folder))) continue;
    if (reader.holdsPictures) throw pictureFolder(folder);
    reader.notes.push(`${folder}: no runs in it`);
  }
  const { runs, notes } = withoutDuplicates(reader);
  return { runs, stored: reader.stored, sweeps: reader.sweeps, notes: [...reader.notes, ...notes] };
}

/** The user passed the folder of pictures instead of the folder of runs. */
function pictureFolder(folder: string): DataError {
  return new DataError(
    `${folder}: this is a folder of pictures, but a report needs run folders, which training writes to runs/ or to --out. ` +
      "Use that folder: nudge report runs. " +
      `To train on these pictures first: nudge train --data ${folder}`,
  );
}

class Reader implements Results {
  readonly runs: EvaluatedRun[] = [];
  readonly stored: StoredRun[] = [];
  readonly notes: string[] = [];
  readonly sweeps: ReportedSweep[] = [];
  /** Whether a folder contained runs. Each folder is read once, also if links point to it again. */
  private readonly visited = new Map<string, boolean>();
  /** Files that were skipped in the last folder, and how many of them are pictures. */
  private foreign = { files: 0, pictures: 0 };
  private readonly reader = new RunReader();
  /** Of the sweep that is being read. */
  private fixedByHand: FixedByHand | undefined;

  /** Whether most of the skipped files are pictures; there are some among the files of a report. */
  get holdsPictures(): boolean {
    const { files, pictures } = this.foreign;
    return pictures > files / 2;
  }

  /** Reads a folder and its subfolders; returns whether there is any run. `place` is its path without links. */
  visit(folder: string, place: string, depth = 0): boolean {
    if (depth === 0) this.foreign = { files: 0, pictures: 0 };
    const before = this.visited.get(place);
    if (before !== undefined) return before;
    this.visited.set(place, false);
    const found = this.orNoted(() => {
      if (statSync(folder).isFile()) return this.readPack(folder);
      return (
        this.readOwn(folder) || this.readOther(folder) || this.readSweep(folder) || this.descend(folder, place, depth)
      );
    });
    this.visited.set(place, found);
    return found;
  }

  /** Damaged content is reported and does not affect the rest. */
  private orNoted(read: () => boolean): boolean {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof DataError) && !(error as NodeJS.ErrnoException).code) throw error;
      this.notes.push(`skipped: ${(error as Error).message}`);
      return true;
    }
  }

  private descend(folder: string, place: string, depth: number): boolean {
    const entries = readdirSync(folder, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith("."))
      // Links come last, so that a run is listed under its own name.
      .sort((a, b) => Number(a.isSymbolicLink()) - Number(b.isSymbolicLink()) || byCodePoint(a.name, b.name));
    const isFolder = (entry: Dirent): boolean =>
      entry.isDirectory() ||
      (entry.isSymbolicLink() && statSync(join(folder, entry.name), { throwIfNoEntry: false })?.isDirectory() === true);
    const isRead = (entry: Dirent): boolean => isFolder(entry) || isPackName(entry.name);
    const foreign = entries.filter((entry) => !isRead(entry)).map(({ name }) => name);
    this.foreign.files += foreign.length;
    this.foreign.pictures += foreign.filter(isPictureName).length;
    if (foreign.length > 0) {
      const more = foreign.length > 4 ? ` and ${foreign.length - 4} more` : "";
      const are = foreign.length === 1 ? "is not a run" : "are not runs";
      this.notes.push(`${folder}: skipped ${foreign.slice(0, 4).join(", ")}${more}, which ${are}`);
    }
    if (depth === DEEPEST) return false;
    let any = false;
    for (const entry of entries.filter(isRead)) {
      const path = join(folder, entry.name);
      const below = entry.isSymbolicLink() ? realpathSync(path) : join(place, entry.name);
      const notes = this.notes.length;
      if (this.visit(path, below, depth + 1)) any = true;
      else if (this.notes.length > notes) this.notes.splice(notes, Infinity, `${path}: skipped: it contains no runs`);
    }
    return any;
  }

  private readOwn(place: string | StoredFiles): boolean {
    const result = this.reader.read(place, (settings) => this.fixedByHand?.settingsOf(settings) ?? settings);
    if (!result) return false;
    this.stored.push(result.stored);
    this.runs.push(...result.runs);
    this.notes.push(...result.notes);
    return true;
  }

  /** The runs of a sweep, and its planned runs; its other files are ignored. */
  private readSweep(folder: string): boolean {
    if (!isSweepFolder(folder)) return false;
    const sweep = readReportedSweep(folder);
    const { runs } = sweepPaths(folder);
    this.sweeps.push(sweep);
    const [notes, stored] = [this.notes.length, this.stored.length];
    this.fixedByHand = new FixedByHand(sweep.asked ?? []);
    const any = existsSync(runs) && this.descend(runs, realpathSync(runs), 1);
    this.fixedByHand = undefined;
    this.forgetEarly(notes, stored);
    if (!any && sweep.firstFailure === null)
      this.notes.push(`${folder}: no run of the sweep has started; start it with: nudge sweep run ${folder}`);
    return true;
  }

  /** One line per sweep states how many of its runs are done, started or failed; runs without records need no note each. */
  private forgetEarly(notes: number, stored: number): void {
    const early = new Set(this.stored.slice(stored).map((run) => notEvaluated(run.folder)));
    for (const note of this.notes.splice(notes)) if (!early.has(note)) this.notes.push(note);
  }

  /** The runs of a packed study, and its planned runs. */
  private readPack(path: string): boolean {
    const pack = new PackFile(path);
    const [notes, stored] = [this.notes.length, this.stored.length];
    for (const run of pack.runs()) {
      this.fixedByHand ??= new FixedByHand(requestsIn(pack.study));
      this.orNoted(() => this.readOwn(run));
    }
    this.fixedByHand = undefined;
    const runs = this.stored.slice(stored);
    if (pack.study.has(SWEEP_FILE)) {
      this.orNoted(() => {
        this.sweeps.push({ ...readReportedSweep(pack.study), packed: true });
        return true;
      });
      this.forgetEarly(notes, stored);
    }
    this.notes.push(...pack.notes);
    return runs.length > 0;
  }

  private readOther(folder: string): boolean {
    const path = join(folder, RESULTS_FILE);
    if (!existsSync(path)) return false;
    const { runs, notes } = isSwad(path) ? readSwad(path) : readDomainBed(path);
    this.runs.push(...runs);
    this.notes.push(...notes);
    return true;
  }
}

/** The requests of a sweep; empty if there is no sweep, or an unreadable one, which is reported elsewhere. */
function requestsIn(files: StoredFiles): readonly unknown[] {
  try {
    return files.has(SWEEP_FILE) ? readSweepFile(files).requests : [];
  } catch (error) {
    if (error instanceof DataError) return [];
    throw error;
  }
}

/** SWAD's trainer writes the test environments into each line; DomainBed's has only the arguments. */
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
 * if they were one; the finished one is kept, of several the one with the lowest seed. DomainBed's are kept as its own collector keeps them. Runs on
 * pictures that have changed since do not compete either.
 */
export function withoutDuplicates({ runs: all, stored }: Results): { runs: EvaluatedRun[]; notes: string[] } {
  const { runs, notes: changed } = withoutChangedPictures(all, stored);
  const done = new Set(stored.filter((run) => run.done).map(({ folder }) => folder));
  const keyOf = ({ dataset, testDomains, method, trialSeed, hparamsSeed }: EvaluatedRun): string =>
    JSON.stringify([dataset, [...testDomains].sort(), methodKey(method), trialSeed, hparamsSeed]);
  const own = runs.filter(({ format }) => format === "nudge").map((run) => ({ run, key: keyOf(run) }));
  const seeds = new Map(stored.map(({ folder, settings }) => [folder, settings.seed]));
  const bySeed = own.toSorted((a, b) => seeds.get(a.run.source)! - seeds.get(b.run.source)!);
  const kept = new Map<string, EvaluatedRun>();
  for (const { run, key } of [...bySeed.filter(({ run }) => done.has(run.source)), ...bySeed])
    if (!kept.has(key)) kept.set(key, run);
  const left = new Map(own.filter(({ run, key }) => kept.get(key) !== run).map(({ run, key }) => [run, key]));
  const combined = new Set(stored.flatMap(({ settings }) => settings.combination?.members ?? []));
  const isMember = (run: EvaluatedRun): boolean => combined.has(basename(run.source).slice(0, 16));
  const members = new Set([...left.keys()].filter(isMember).map(({ source }) => source));
  const notes = Array.from(left).flatMap(([run, key]) =>
    isMember(run)
      ? []
      : `${run.source}: skipped: ${kept.get(key)!.source} is a run of the same setting ` +
        `(${methodKey(run.method)}, trial ${run.trialSeed}). For more trials, change --trial-seed`,
  );
  const further =
    members.size > 0
      ? [
          `${members.size} runs with further seeds of a trial count in soups and ensembles only; in the other rows a trial has the run with its first seed`,
        ]
      : [];
  return { runs: runs.filter((run) => !left.has(run)), notes: [...changed, ...notes, ...further] };
}
