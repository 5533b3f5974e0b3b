/**
 * A sweep of the index: what was asked for, its plan, and what was decided about runs (failed for good, hopeless, cancelled).
 * Each is read again only when its file changes, and the plan, which may be long, only when somebody asks for it.
 */

import { basename } from "node:path";
import { DataError, UsageError } from "../errors.js";
import { FolderFiles, type StoredFiles } from "../files/stored-files.js";
import { FixedByHand } from "../sweep/fixed-by-hand.js";
import { type ListedRun, readRunList } from "../sweep/run-list.js";
import type { Verdict } from "../sweep/run-state.js";
import { sharedSettings, shortLine, shortTitle } from "../sweep/short-titles.js";
import { ATTEMPTS, CANCELLED, PLAN_FILE, readSweepFile, SWEEP_FILE, type SweepFile } from "../sweep/sweep-folder.js";
import { readVerdicts } from "../sweep/verdicts.js";

/** A sweep as reports see it; some of its runs may still be to come. */
export interface ReportedSweep {
  /** Its folder, or the pack that it was read from. */
  readonly folder: string;
  readonly packed?: true;
  /** How many runs the plan has. */
  readonly planned: number;
  /** The trials that are planned, by dataset as it was given. */
  readonly trials: Readonly<Record<string, readonly number[]>>;
  /** What `nudge sweep plan` was asked for, one entry each time, as `sweep.json` has it. */
  readonly asked?: readonly unknown[];
  /** What was decided about runs, by their ids. */
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** The first run in the plan that failed, in short. */
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

  /** What `sweep.json` holds; throws where it cannot be read. */
  get file(): SweepFile {
    if (this.read === undefined) this.refresh();
    if (this.read instanceof Error) throw this.read;
    return this.read!;
  }

  /** All runs of the plan; throws where it cannot be read. The same list until it changes. */
  get plan(): readonly ListedRun[] {
    this.listed ??= readRunList(this.files);
    return this.listed;
  }

  /** The decision about the run in this folder. */
  verdictOn(run: string): Verdict | undefined {
    return this.verdicts.get(basename(run).slice(0, 16));
  }

  /** What reports say of it; throws where it cannot be read. */
  reported(): ReportedSweep {
    const { trials = {}, runs: planned, requests: asked } = this.file;
    const { files, verdicts } = this;
    return {
      folder: files.path,
      ...(!(files instanceof FolderFiles) && { packed: true }),
      ...{ planned, trials, asked, verdicts, firstFailure: this.firstFailure() },
    };
  }

  private firstFailure(): ReportedSweep["firstFailure"] {
    if (![...this.verdicts.values()].some(({ state }) => state === "failed")) return null;
    const plan = orError(() => this.plan);
    if (plan instanceof Error) return null; // costs a report these words and none of its runs
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

/** What is read, or the error that names what is damaged. */
function orError<T>(read: () => T): T | Error {
  try {
    return read();
  } catch (error) {
    if (error instanceof DataError || error instanceof UsageError) return error;
    throw error;
  }
}

/** What went wrong, without what to look at: that is what the status of the sweep is for. */
const firstSentence = (error: string): string => shortLine(error.split(/\.\s/)[0].replace(/\.$/, ""), 160);
