/**
 * Reads everything to report on from folders and packs: runs of ours, of DomainBed and of SWAD's descendants, a few
 * levels deep. Other content is skipped and reported; one damaged run does not affect the others.
 */

import { closeSync, existsSync, readSync } from "node:fs";
import { join } from "node:path";
import { isPictureName } from "../data/folder-tree.js";
import { listNames } from "../data/show-name.js";
import { DataError } from "../errors.js";
import { openToRead } from "../files/open-file.js";
import { RESULTS_FILE, readDomainBed } from "../records/domainbed.js";
import { type EvaluatedRun, methodKey } from "../records/evaluated-run.js";
import { runIdOf, type StoredRun } from "../records/run.js";
import type { Note } from "../records/run-reader.js";
import { readSwad } from "../records/swad.js";
import type { Found, Listed } from "../run-index/folder-scan.js";
import type { ReportedSweep } from "../run-index/indexed-sweep.js";
import { RunIndex } from "../run-index/run-index.js";
import { runCommand } from "../sweep/run-command.js";
import { withoutEndedEarly } from "./candidates.js";
import { withRowsApart } from "./rows-apart.js";

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

/** Reads all runs in folders, each of which can be a run itself, and in packs. */
export function readResults(folders: readonly string[]): Results {
  for (const folder of folders)
    if (!existsSync(folder))
      throw new DataError(`${folder}: no such folder. Expected a folder of runs, a run folder or a packed study`);
  const index = new RunIndex(folders);
  // Each run is read when it is found, because the blocks of a pack stay in memory only for a short time. Problems are noted below.
  for (const run of index.find()) if (run) ifSound(() => run.result());
  const reader = new Reader(index);
  for (const root of index.scan.roots) {
    if (reader.visit(root)) continue;
    if (reader.holdsPictures) throw pictureFolder(root.path);
    reader.note(`${root.path}: no runs in it`);
  }
  const { runs, notes } = withoutDuplicates({ runs: reader.runs, stored: reader.stored });
  return {
    runs,
    stored: reader.stored,
    sweeps: reader.sweeps,
    notes: [...reader.notes.map(({ text }) => text), ...reader.partialNotes, ...reader.failedNotes, ...notes],
  };
}

/** Damaged content is an error that does not affect the rest. */
function ifSound<T>(read: () => T): T | Error {
  try {
    return read();
  } catch (error) {
    if (error instanceof DataError || (error as NodeJS.ErrnoException).code) return error as Error;
    throw error;
  }
}

/** The user passed the folder of pictures instead of the folder of runs. */
function pictureFolder(folder: string): DataError {
  return new DataError(
    `${folder}: this is a folder of pictures, but a report needs run folders, which training writes to runs/ or to --out. ` +
      "Use that folder: nudge report runs. " +
      `To train on these pictures first: nudge train --data ${folder}`,
  );
}

/** Collects what an index found, in the order of folder names, with notes on what was skipped. */
class Reader {
  readonly runs: EvaluatedRun[] = [];
  readonly stored: StoredRun[] = [];
  readonly notes: Note[] = [];
  readonly sweeps: ReportedSweep[] = [];
  /** Whether a folder contained runs. Each folder is read once, also if links point to it again. */
  private readonly visited = new Map<string, boolean>();
  /** The number of runs that evaluated only a part of their held-out domains. */
  private partial = 0;
  /** The folders of failed runs. */
  private readonly failed: string[] = [];
  /** Files that were skipped in the last folder, and how many of them are pictures. */
  private foreign = { files: 0, pictures: 0 };

  constructor(private readonly index: RunIndex) {}

  /** Whether most of the skipped files are pictures; there are some among the files of a report. */
  get holdsPictures(): boolean {
    const { files, pictures } = this.foreign;
    return pictures > files / 2;
  }

  /** One note for all of these runs: own pictures have one for each fold of held-out domains. */
  get partialNotes(): string[] {
    if (this.partial === 0) return [];
    const are = this.partial === 1 ? "1 run is" : `${this.partial} runs are`;
    return [
      `${are} not in the tables, because only a part of the held-out pictures was evaluated to choose a recipe. The results are in report.html in the folder of the model`,
    ];
  }

  /** One note for all failed runs, which are no candidates of model selection. */
  get failedNotes(): string[] {
    const { length } = this.failed;
    if (length === 0) return [];
    const are = length === 1 ? "1 run failed and is" : `${length} runs failed and are`;
    return [`${are} not in the tables: ${listNames(this.failed, MOST_FAILED)}`];
  }

  note(text: string): void {
    this.notes.push({ kind: "skipped", run: null, text });
  }

  /** Takes a folder and its subfolders; returns whether there is any run. */
  visit(found: Found): boolean {
    if (found.depth === 0) this.foreign = { files: 0, pictures: 0 };
    const before = this.visited.get(found.real);
    if (before !== undefined) return before;
    this.visited.set(found.real, false);
    const any = this.orNoted(() => this.take(found));
    this.visited.set(found.real, any);
    return any;
  }

  private take(found: Found): boolean {
    const listed = this.index.scan.at(found);
    if (listed.kind === "pack") return this.takePack(found, listed);
    if (listed.problem) throw listed.problem;
    if (listed.kind === "run") return this.takeRun(found);
    if (listed.kind === "results") return this.takeOther(found.path);
    return listed.kind === "sweep" ? this.takeSweep(found, listed) : this.takeChildren(found, listed);
  }

  /** Damaged content is reported and does not affect the rest. */
  private orNoted(read: () => boolean): boolean {
    const found = ifSound(read);
    if (typeof found === "boolean") return found;
    this.note(`skipped: ${found.message}`);
    return true;
  }

  private takeChildren({ path }: Found, { foreign, children }: Listed): boolean {
    this.foreign.files += foreign.length;
    this.foreign.pictures += foreign.filter(isPictureName).length;
    if (foreign.length > 0) {
      const more = foreign.length > 4 ? ` and ${foreign.length - 4} more` : "";
      const are = foreign.length === 1 ? "is not a run" : "are not runs";
      this.note(`${path}: skipped ${foreign.slice(0, 4).join(", ")}${more}, which ${are}`);
    }
    let any = false;
    for (const child of children) {
      const notes = this.notes.length;
      if (this.visit(child)) any = true;
      else if (this.notes.length > notes)
        this.notes.splice(notes, Infinity, {
          kind: "skipped",
          run: null,
          text: `${child.path}: skipped: it contains no runs`,
        });
    }
    return any;
  }

  private takeRun({ id }: Found): boolean {
    const run = this.index.runs.get(id);
    const result = run?.result();
    if (!run || !result) return false;
    this.stored.push(result.stored);
    if (!result.stored.done && run.lookAtState() === "failed") {
      if (!run.sweep) this.failed.push(result.stored.folder); // a sweep has a note of its own
      return true;
    }
    if (result.runs.length === 0 && result.stored.settings.testPictures !== undefined) {
      this.partial++;
      return true;
    }
    for (const each of result.runs) this.runs.push(each);
    for (const note of result.notes) this.notes.push(note);
    return true;
  }

  /** The runs of a sweep, and its planned runs; its other files are ignored. */
  private takeSweep({ id, path }: Found, { children }: Listed): boolean {
    const [notes, stored] = [this.notes.length, this.stored.length];
    const sweep = this.reportedSweep(id);
    const any = children.some((runs) => this.orNoted(() => this.takeChildren(runs, this.index.scan.at(runs))));
    this.forgetEarly(notes, stored);
    if (!any && sweep?.firstFailure === null)
      this.note(`${path}: no run of the sweep has started; start it with: ${runCommand(path, sweep ?? {})}`);
    return true;
  }

  private reportedSweep(id: string): ReportedSweep | undefined {
    const sweep = ifSound(() => this.index.sweeps.get(id)!.reported());
    if (sweep instanceof Error) this.note(`skipped: ${sweep.message}`);
    else this.sweeps.push(sweep);
    return sweep instanceof Error ? undefined : sweep;
  }

  /** One line per sweep states how many of its runs are done, started or failed; runs without records need no note each. */
  private forgetEarly(notes: number, stored: number): void {
    if (this.notes.length === notes) return;
    const early = new Set(this.stored.slice(stored).map(({ folder }) => folder));
    for (const note of this.notes.splice(notes))
      if (note.kind !== "not evaluated" || !early.has(note.run ?? "")) this.notes.push(note);
  }

  /** The runs of a packed study, and its planned runs. */
  private takePack({ id }: Found, { children, study, problem, notes: problems = [] }: Listed): boolean {
    const [notes, stored] = [this.notes.length, this.stored.length];
    for (const run of children) this.orNoted(() => this.takeRun(run));
    if (problem) throw problem;
    const any = this.stored.length > stored;
    if (study) {
      this.reportedSweep(id);
      this.forgetEarly(notes, stored);
    }
    for (const problem of problems) this.note(problem);
    return any;
  }

  private takeOther(folder: string): boolean {
    const path = join(folder, RESULTS_FILE);
    const { runs, notes } = isSwad(path) ? readSwad(path) : readDomainBed(path);
    this.runs.push(...runs);
    for (const note of notes) this.note(note);
    return true;
  }
}

/** The number of failed runs that are named. */
const MOST_FAILED = 3;

/** SWAD's trainer writes the test environments into each line; DomainBed's has only the arguments. */
function isSwad(path: string): boolean {
  const fd = openToRead(path);
  try {
    const start = Buffer.alloc(1 << 16);
    return start.subarray(0, readSync(fd, start)).includes('"real_test_envs"');
  } finally {
    closeSync(fd);
  }
}

/**
 * Two runs of ours with the same dataset, method, seeds of trial and hyperparameters, and test domains would compete as
 * if they were one; the finished one is kept, of several the one with the lowest seed. DomainBed's are kept as its own collector keeps them. Runs that
 * are not alike become different rows before, and runs that an average ended early have no row of the trained model.
 */
export function withoutDuplicates({ runs: all, stored }: Pick<Results, "runs" | "stored">): {
  runs: EvaluatedRun[];
  notes: string[];
} {
  const byFolder = new Map(stored.map((run) => [run.folder, run]));
  const storedOf = ({ source }: EvaluatedRun): StoredRun | undefined => byFolder.get(source);
  const whole = withoutEndedEarly(all, storedOf);
  const apart = withRowsApart(whole.runs, storedOf);
  const { runs } = apart;
  const changed = [...whole.notes, ...apart.notes];
  const own = runs
    .filter(({ format }) => format === "nudge")
    .map((run) => {
      const { done = false, settings } = byFolder.get(run.source) ?? {};
      return { run, key: settingKey(run), done, seed: settings?.seed ?? 0 };
    });
  const bySeed = own.toSorted((a, b) => a.seed - b.seed);
  const kept = new Map<string, EvaluatedRun>();
  for (const isDone of [true, false])
    for (const { run, key, done } of bySeed) if (done === isDone && !kept.has(key)) kept.set(key, run);
  const left = new Map(own.filter(({ run, key }) => kept.get(key) !== run).map(({ run, key }) => [run, key]));
  const combined = new Set(stored.flatMap(({ settings }) => settings.combination?.members ?? []));
  const idOf = (run: EvaluatedRun): string => {
    const own = storedOf(run);
    return own ? runIdOf(own) : "";
  };
  const isMember = (run: EvaluatedRun): boolean => combined.has(idOf(run));
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

/** A key that runs of the same setting share. */
const settingKey = ({ dataset, testDomains, method, trialSeed, hparamsSeed }: EvaluatedRun): string => {
  const domains = testDomains.length === 1 ? testDomains : testDomains.toSorted();
  return `${trialSeed} ${hparamsSeed} ${JSON.stringify(domains)} ${JSON.stringify(dataset)} ${methodKey(method)}`;
};
