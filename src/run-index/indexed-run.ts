/**
 * One run of the index, in a folder or in a pack: what has been read from its files, and what must be checked again. A finished
 * run is not checked again, and a running one is checked each time. Other runs are checked only when their folder or its lock
 * changed, because a process that resumes a run takes the lock first. Packs do not change.
 */

import { join } from "node:path";
import { DataError } from "../errors.js";
import { LockWatch, noteOf, noteTime, ownerOf } from "../files/folder-lock.js";
import { jsonIn } from "../files/inside-files.js";
import { FolderFiles, type StoredFiles } from "../files/stored-files.js";
import { type GrowingFile, growingFile } from "../files/tail.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { DONE_FILE, RECORDS_FILE, type RunSettings, SETTINGS_FILE } from "../records/run.js";
import type { RunReader, RunResult } from "../records/run-reader.js";
import { AccuracyScan } from "../records/scan-accuracies.js";
import { type RunState, runState, stateWord, type Verdict } from "../sweep/run-state.js";
import { lockOf, type Progressing } from "../training/run-folder.js";
import type { IndexedSweep } from "./indexed-sweep.js";

/** The result of checking a run: no change, a possible change of state or progress, or changed accuracies. */
export type Change = "none" | "row" | "numbers";

/** The process that is working on a run, and its last progress report. */
export interface RunWork {
  readonly host: string;
  readonly pid: number;
  /** Null before its first report. */
  readonly progress: Progressing | null;
  /** The time of the report by the clock of the disk, and the time at which it was first read, in milliseconds since 1970. */
  readonly written: number | undefined;
  readonly seen: number;
}

export class IndexedRun {
  settings: RunSettings | undefined;
  /** The problem with the run, or the reason why it stopped. */
  problem: string | null = null;
  /** The state at the last check. */
  state: RunState = "stopped";
  work: RunWork | null = null;
  secondsPerStep: number | null = null;
  /** Its accuracies; undefined before they are read. */
  accuracies: AccuracyScan | undefined;
  /** Whether it is a folder in a sweep that has no settings yet. */
  isBare = false;
  private made: RunResult | undefined;
  private verdict: Verdict | undefined;
  private records: GrowingFile | undefined;
  private timing: GrowingFile | undefined;
  private lock: LockWatch | undefined;
  /** Modification times of its folder, of the lock in it, and of the file that marks it as done. */
  private times: readonly [folder: number, lock: number] = [-1, -1];
  private doneTime = 0;

  /** All runs of an index share one `reader`, which stores equal values once. */
  constructor(
    readonly id: string,
    readonly files: StoredFiles,
    readonly sweep: IndexedSweep | undefined,
    private readonly reader: RunReader,
  ) {}

  /** Whether it is in a pack instead of a folder. */
  get isPacked(): boolean {
    return !(this.files instanceof FolderFiles);
  }

  get isDone(): boolean {
    return this.state === "done";
  }

  /** Whether its model is a final model. The estimate of a final model is written later, when the runs with held-out domains are done. */
  get isForUse(): boolean {
    const { settings } = this;
    return settings !== undefined && isOwnDataset(settings.dataset) && settings.testDomains.length === 0;
  }

  /** The time of the last change of its files, in milliseconds since 1970. */
  get changedAt(): number | null {
    if (this.isPacked) return this.files.time(DONE_FILE) || null;
    return this.timing?.changed ?? this.records?.changed ?? (this.times[0] || null);
  }

  /** Checks everything again. */
  refresh(): Change {
    if (!this.mayHaveChanged()) return "none";
    const before = this.state;
    if (!this.settings) this.readSettings();
    this.lookAtState();
    if (this.isBare) return "none";
    if (this.settings) this.problem = this.reason();
    else this.state = "failed";
    const grew = this.readRecords();
    this.readPace();
    // The estimate of a final model is written after the run is done.
    const hasNumbers = grew || (this.isDone && this.isForUse);
    if (hasNumbers || this.state !== before) this.made = undefined;
    return hasNumbers ? "numbers" : "row";
  }

  private mayHaveChanged(): boolean {
    const isFirst = this.times[0] < 0;
    const hasMore = this.records?.hasMore ?? false;
    if (this.isDone && !isFirst && !this.isForUse && !hasMore) return false;
    const hasChanged = this.folderChanged();
    if (this.isPacked || this.isDone) return isFirst || hasChanged || hasMore;
    return hasChanged || this.state === "running" || hasMore || this.verdictNow() !== this.verdict;
  }

  private folderChanged(): boolean {
    const [folder, lock] = [this.files.time("."), this.files.time("lock")];
    // A change within the resolution of the clock would not be seen, so recent files are checked again.
    const settled = Date.now() - Math.max(folder, lock) > YOUNG_MS;
    if (settled && folder === this.times[0] && lock === this.times[1]) return false;
    this.times = [folder, lock];
    return true;
  }

  private verdictNow(): Verdict | undefined {
    return this.sweep?.verdictOn(this.files.path);
  }

  /** Updates the state of the run and the process that is working on it. */
  lookAtState(): RunState {
    if (this.isDone) return this.state;
    this.verdict = this.verdictNow();
    const isDone = this.files.has(DONE_FILE);
    if (isDone) this.doneTime = this.files.time(DONE_FILE);
    this.work = isDone || this.isPacked ? null : this.workNow();
    const isRunning = this.work !== null;
    const hasFailed = !this.sweep && !isDone && !isRunning && this.failure() !== undefined;
    this.state = runState({ isDone, isRunning, isBegun: true, verdict: this.verdict, hasFailed });
    return this.state;
  }

  private workNow(): RunWork | null {
    const lock = lockOf(this.files.path);
    const owner = ownerOf(lock);
    if (owner === undefined) return null;
    this.lock ??= new LockWatch(lock);
    if (this.lock.deadOwner()) return null;
    const progress = readProgress(noteOf(lock, owner));
    // Only a note with other content is a change, and its time is that of the first time it was read.
    const before = this.work?.progress;
    const isSame = before?.step === progress?.step && before?.left === progress?.left;
    const seen = isSame && this.work ? this.work.seen : Date.now();
    return { host: owner.host, pid: owner.pid, progress, written: noteTime(lock, owner), seen };
  }

  /** Why a run stopped that is neither done nor running. */
  private reason(): string | null {
    if (this.isDone || this.work) return null;
    const dump = this.failure();
    const error = dump ? `step ${dump.step}: ${dump.message}` : this.verdict?.error;
    return error ?? (this.state === "stopped" ? null : stateWord(this.state));
  }

  /** The dump of a failure. */
  private failure(): Record<string, unknown> | undefined {
    return jsonIn(this.files, "failure/failure.json");
  }

  /** Whether it was finished, removed and started again after it was read. */
  get isAnother(): boolean {
    return this.isDone && !this.isPacked && this.files.time(DONE_FILE) !== this.doneTime;
  }

  /**
   * The run in the format of tables, created on request and kept until its accuracies change; undefined if it has no settings. A run
   * that was not checked before is read completely, and only the result is kept.
   */
  result(): RunResult | undefined {
    if (this.made) return this.made;
    const settings = this.settings ?? this.settingsNow();
    if (!settings) return undefined;
    const { files, reader, records, accuracies } = this;
    if (records && accuracies) {
      // The rest of a large file is read at the next check.
      const isSound = records.changed !== undefined && (records.isWhole || records.hasMore);
      this.made = reader.result(files, settings, isSound ? accuracies : undefined);
    } else {
      const text = files.text(RECORDS_FILE);
      const scan = text === undefined ? undefined : new AccuracyScan(settings.domains).add(text);
      this.made = reader.result(files, settings, scan, text);
    }
    return this.made;
  }

  private settingsNow(): RunSettings | undefined {
    return this.reader.settings(this.files, (settings) => this.sweep?.byHand.settingsOf(settings) ?? settings);
  }

  private readSettings(): void {
    try {
      this.settings = this.settingsNow();
      this.problem = this.settings ? null : `${SETTINGS_FILE}: it cannot be read`;
      this.isBare = !this.settings && this.sweep !== undefined;
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      this.problem = error.message.replace(join(this.files.path, SETTINGS_FILE), SETTINGS_FILE);
    }
  }

  /** Reads what was added to the records; returns whether accuracies changed. */
  private readRecords(): boolean {
    if (!this.settings) return false;
    this.records ??= growingFile(this.files, RECORDS_FILE);
    const { text, replaced } = this.records.read();
    if (replaced || !this.accuracies) this.accuracies = new AccuracyScan(this.settings.domains);
    const before = this.accuracies.count;
    return this.accuracies.add(text).count > before || replaced;
  }

  /** The mean seconds per step, by the last line of the timing file. */
  private readPace(): void {
    this.timing ??= growingFile(this.files, "timing.jsonl");
    const last = this.timing.read().text.trimEnd().split("\n").at(-1);
    try {
      const { seconds, updates } = JSON.parse(last || "{}");
      if (seconds > 0 && updates > 0) this.secondsPerStep = seconds / updates;
    } catch {
      // Damaged: use the next line.
    }
  }
}

/** A folder that changed within this time, in milliseconds, is checked again. */
const YOUNG_MS = 3_000;

/** A progress report may be incomplete while it is written. It is read at the next check. */
function readProgress(text: string | undefined): Progressing | null {
  try {
    const { step, steps, left } = JSON.parse(text ?? "") as Progressing;
    return [step, steps, left].every(Number.isFinite) ? { step, steps, left } : null;
  } catch {
    return null;
  }
}
