/**
 * A sweep of the index: its requests, its plan, and the decisions about runs (failed, stopped early, cancelled). Each is read
 * again only when its file changes. The plan, which may be long, is read only on request.
 */

import { DataError, UsageError } from "../errors.js";
import { FolderFiles, type StoredFiles } from "../files/stored-files.js";
import { idInName } from "../records/run.js";
import { FixedByHand } from "../sweep/fixed-by-hand.js";
import { type ListedRun, readRunList } from "../sweep/run-list.js";
import type { Verdict } from "../sweep/run-state.js";
import { sharedSettings, shortLine, shortTitle } from "../sweep/short-titles.js";
import { ATTEMPTS, CANCELLED, PLAN_FILE, readSweepFile, SWEEP_FILE, type SweepFile } from "../sweep/sweep-folder.js";
import { readVerdicts } from "../sweep/verdicts.js";

/** A sweep in the form that reports use. Some of its runs may not exist yet. */
export interface ReportedSweep {
  /** Its folder or its pack. */
  readonly folder: string;
  readonly packed?: true;
  /** The number of runs in the plan. */
  readonly planned: number;
  /** The planned trials, by dataset as given. */
  readonly trials: Readonly<Record<string, readonly number[]>>;
  /** The requests in `sweep.json`, one for each call of `nudge sweep plan`. */
  readonly asked?: readonly unknown[];
  /** The plug-ins with which it was planned. */
  readonly plugins?: readonly string[];
  /** Decisions about runs, by id. */
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** A short description of the first run in the plan that failed. */
  readonly firstFailure: { readonly title: string; readonly error: string } | null;
}

/**
 * Files that changed within this time, in milliseconds, are read again, because the resolution of the clock may hide a
 * second change.
 */
const YOUNG_MS = 2_000;

export class IndexedSweep {
  private time = "";
  private decided = -1;
  private read: SweepFile | Error | undefined;
  private listed: readonly ListedRun[] | undefined;
  verdicts: ReadonlyMap<string, Verdict> = new Map();
  /** The explicit settings of runs of earlier versions. */
  byHand = new FixedByHand([]);

  constructor(
    readonly id: string,
    readonly files: StoredFiles,
  ) {}

  /** Checks again; returns whether the plan or a decision about a run has changed. */
  refresh(): boolean {
    const decided = this.readVerdicts();
    const time = `${this.files.time(PLAN_FILE)} ${this.files.time(SWEEP_FILE)}`;
    if (time === this.time) return decided;
    this.time = time;
    this.listed = undefined;
    this.read = orError(() => readSweepFile(this.files));
    this.byHand = new FixedByHand(this.read instanceof Error ? [] : this.read.requests);
    return true;
  }

  /** The content of `sweep.json`; throws if it cannot be read. */
  get file(): SweepFile {
    if (this.read === undefined) this.refresh();
    if (this.read instanceof Error) throw this.read;
    return this.read!;
  }

  /** All runs of the plan; throws if it cannot be read. The list is the same object until the plan changes. */
  get plan(): readonly ListedRun[] {
    this.listed ??= readRunList(this.files);
    return this.listed;
  }

  /** The decision about the run in this folder. */
  verdictOn(run: string): Verdict | undefined {
    return this.verdicts.get(idInName(run));
  }

  /** The sweep for reports; throws if it cannot be read. */
  reported(): ReportedSweep {
    const { trials = {}, runs: planned, requests: asked, plugins } = this.file;
    const { files, verdicts } = this;
    return {
      folder: files.path,
      ...(!(files instanceof FolderFiles) && { packed: true }),
      ...(plugins && { plugins }),
      ...{ planned, trials, asked, verdicts, firstFailure: this.firstFailure() },
    };
  }

  private firstFailure(): ReportedSweep["firstFailure"] {
    if (![...this.verdicts.values()].some(({ state }) => state === "failed")) return null;
    const plan = orError(() => this.plan);
    if (plan instanceof Error) return null; // the report loses only this text, and none of the runs
    const first = plan.find(({ id }) => this.verdicts.get(id)?.state === "failed");
    if (!first) return null;
    return {
      title: shortTitle(first.title, sharedSettings(plan.map(({ title }) => title))),
      error: firstSentence(this.verdicts.get(first.id)?.error ?? "no reason was kept"),
    };
  }

  /**
   * Attempts are replaced by renaming, and cancelled runs are names in a folder, so the times of folders show every
   * change.
   */
  private readVerdicts(): boolean {
    const time = Math.max(this.files.time(ATTEMPTS), this.files.time(CANCELLED));
    if (time === this.decided) return false;
    this.decided = Date.now() - time > YOUNG_MS ? time : -1;
    const now = readVerdicts(this.files);
    // An unchanged decision stays the same object, so that runs can compare it by identity.
    for (const [id, before] of this.verdicts) {
      const verdict = now.get(id);
      if (verdict?.state === before.state && verdict.error === before.error) now.set(id, before);
    }
    this.verdicts = now;
    return true;
  }
}

/** The result of reading, or the error that names the damaged file. */
function orError<T>(read: () => T): T | Error {
  try {
    return read();
  } catch (error) {
    if (error instanceof DataError || error instanceof UsageError) return error;
    throw error;
  }
}

/** The error without the advice on what to look at, which the status of the sweep gives. */
const firstSentence = (error: string): string => shortLine(error.split(/\.\s/)[0].replace(/\.$/, ""), 160);
