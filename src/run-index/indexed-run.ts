/**
 * One run of the index, in a folder or in a pack: what was read of its files so far, and what has to be looked at again. A run
 * that is done is not looked at again; one at work is looked at each time; the others only when their folder or the lock in it
 * changed, since a process that resumes a run takes its lock first. Nothing in a pack changes.
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

/** What a look at a run found: nothing new, perhaps another state or progress, or other numbers. */
export type Change = "none" | "row" | "numbers";

/** The process that works on a run, and what it last said. */
export interface RunWork {
  readonly host: string;
  readonly pid: number;
  /** Null where it has not said anything yet. */
  readonly progress: Progressing | null;
  /** When it said that, by the clock of the disk, and when that was first seen; both in milliseconds since 1970. */
  readonly written: number | undefined;
  readonly seen: number;
}

export class IndexedRun {
  settings: RunSettings | undefined;
  /** What is wrong with it, or stopped it. */
  problem: string | null = null;
  /** The state at the last check. */
  state: RunState = "stopped";
  work: RunWork | null = null;
  secondsPerStep: number | null = null;
  /** Its accuracies; undefined before they are read. */
  accuracies: AccuracyScan | undefined;
  /** Whether its folder is there, in a sweep, and has no settings yet. */
  isBare = false;
  private made: RunResult | undefined;
  private verdict: Verdict | undefined;
  private records: GrowingFile | undefined;
  private timing: GrowingFile | undefined;
  private lock: LockWatch | undefined;
  /** Of its folder, the lock in it, and the file that marks it as done. */
  private times: readonly [folder: number, lock: number] = [-1, -1];
  private doneTime = 0;

  /** `reader` is the same for all runs of an index: it keeps once what they have alike. */
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

  /** Whether its model is a final model: its estimate is written after it is done, when the other runs are. */
  get isForUse(): boolean {
    const { settings } = this;
    return settings !== undefined && isOwnDataset(settings.dataset) && settings.testDomains.length === 0;
  }

  /** When its files last changed, in milliseconds since 1970. */
  get changedAt(): number | null {
    if (this.isPacked) return this.files.time(DONE_FILE) || null;
    return this.timing?.changed ?? this.records?.changed ?? (this.times[0] || null);
  }

  /** Looks again at all of it. */
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
    // The estimate of a model for use comes when it is done.
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

  /** Looks at what became of the run, and who works on it. */
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

  /** What stopped a run that is neither done nor at work. */
  private reason(): string | null {
    if (this.isDone || this.work) return null;
    const dump = this.failure();
    const error = dump ? `step ${dump.step}: ${dump.message}` : this.verdict?.error;
    return error ?? (this.state === "stopped" ? null : stateWord(this.state));
  }

  /** The dump that a failure left. */
  private failure(): Record<string, unknown> | undefined {
    return jsonIn(this.files, "failure/failure.json");
  }

  /** Whether it was finished, removed and started again since it was read. */
  get isAnother(): boolean {
    return this.isDone && !this.isPacked && this.files.time(DONE_FILE) !== this.doneTime;
  }

  /**
   * The run as tables take it, made when it is asked for and kept until its numbers change; none where it has no settings. One
   * that was not looked at before is read at once, and of that only the result is kept.
   */
  result(): RunResult | undefined {
    if (this.made) return this.made;
    const settings = this.settings ?? this.settingsNow();
    if (!settings) return undefined;
    const { files, reader, records, accuracies } = this;
    if (records && accuracies) {
      // What is not read yet of a large file is read at the next look.
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

  /** Reads what was added to the records; returns whether there are other accuracies now. */
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

/** A folder that changed so lately, in milliseconds, is looked at again. */
const YOUNG_MS = 3_000;

/** A note may be half written while it is read; the next look has it. */
function readProgress(text: string | undefined): Progressing | null {
  try {
    const { step, steps, left } = JSON.parse(text ?? "") as Progressing;
    return [step, steps, left].every(Number.isFinite) ? { step, steps, left } : null;
  } catch {
    return null;
  }
}
