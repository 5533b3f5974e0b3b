/**
 * A run of the index that is in a folder: what was read of it so far, and what has to be looked at again. A run that is done is never
 * looked at again; one at work is looked at each time; the others only when their folder or the lock in it changed, since
 * a process that resumes a run takes its lock first.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { type LockOwner, LockWatch, noteOf, ownerOf } from "../files/folder-lock.js";
import { DONE_FILE, RECORDS_FILE } from "../records/run.js";
import type { FixedByHand } from "../sweep/fixed-by-hand.js";
import type { RunState, Verdict } from "../sweep/run-state.js";
import type { ReportedProgress } from "./api.js";
import { type Change, IndexedRun } from "./indexed-run.js";
import { InsideFiles, readEnd } from "./inside.js";
import { Tail } from "./tail.js";

export class RunEntry extends IndexedRun {
  readonly isPacked = false;
  private readonly lock: string;
  private readonly lockWatch: LockWatch;
  private readonly records: Tail;
  private readonly timing: Tail;
  private reportedBefore: ReportedProgress | null = null;
  private verdict: Verdict | undefined;
  private folderTime = 0;
  private lockTime = 0;
  private doneTime = 0;

  /** `root` is the real path of the folder that is watched; `sweep` the id of the sweep it belongs to. */
  constructor(
    id: string,
    folder: string,
    sweep: string | null,
    private readonly root: string,
  ) {
    super(id, new InsideFiles(root, folder), sweep);
    this.lock = join(folder, "lock");
    this.lockWatch = new LockWatch(this.lock);
    this.records = new Tail(root, join(folder, RECORDS_FILE));
    this.timing = new Tail(root, join(folder, "timing.jsonl"));
  }

  /** Looks again. */
  refresh(verdict?: Verdict, byHand?: FixedByHand): Change {
    if (this.isDone && !this.records.hasMore && !(this.isForUse && this.folderChanged())) return "none";
    const isIdle = this.state !== "running" && verdict === this.verdict && !this.records.hasMore;
    if (!this.folderChanged() && isIdle) return "none";
    this.verdict = verdict;
    if (!this.settings) this.readSettings(byHand);
    this.state = this.stateNow();
    const grew = this.readMeasured();
    this.readTiming();
    const json = JSON.stringify(this.row());
    const changed = json !== this.json;
    const estimated = changed && this.isDone && this.isForUse;
    if (estimated) this.tabled = undefined;
    const change = grew || estimated ? "numbers" : changed ? "row" : "none";
    this.json = json;
    return change;
  }

  checkDone(): void {
    if (!this.isDone || timeOf(join(this.folder, DONE_FILE)) === this.doneTime) return;
    this.state = "stopped";
    this.settings = undefined;
    this.folderTime = 0;
  }

  logEnd(most: number): { text: string; cut: boolean } | undefined {
    return readEnd(this.root, join(this.folder, "log.txt"), most);
  }

  protected changedAt(): number | null {
    return this.timing.changed ?? this.records.changed ?? (this.folderTime || null);
  }

  private folderChanged(): boolean {
    const [folder, lock] = [timeOf(this.folder), timeOf(this.lock)];
    // A change within the clock's grain of the last look would not show: so what is fresh is looked at again.
    const settled = Date.now() - Math.max(folder, lock) > 3_000;
    if (settled && folder === this.folderTime && lock === this.lockTime) return false;
    [this.folderTime, this.lockTime] = [folder, lock];
    return true;
  }

  private stateNow(): RunState {
    this.doneTime = timeOf(join(this.folder, DONE_FILE));
    const isDone = this.doneTime > 0;
    const owner = isDone ? undefined : ownerOf(this.lock);
    const isRunning = owner !== undefined && !this.lockWatch.deadOwner();
    this.reported = isRunning && this.settings ? this.readNote(owner) : null;
    return this.stateBy(this.verdict, { isDone, isRunning });
  }

  /** What the process at work on the run says of it. */
  private readNote(owner: LockOwner): ReportedProgress | null {
    try {
      const { step, left } = JSON.parse(noteOf(this.lock, owner) ?? "null");
      if (!Number.isFinite(step) || !Number.isFinite(left)) return null;
      // Only a note that says something else is a change, and its time is that of the first look at it.
      const before = this.reportedBefore;
      if (before?.step !== step || before?.left !== left) this.reportedBefore = { step, left, at: Date.now() };
      return this.reportedBefore;
    } catch {
      return null;
    }
  }

  private readMeasured(): boolean {
    const { lines, replaced } = this.records.read();
    if (replaced) this.measured.clear();
    const grew = this.measured.add(lines) || replaced;
    if (grew) this.tabled = undefined;
    return grew;
  }

  private readTiming(): void {
    const last = this.timing.read().lines.at(-1);
    if (last !== undefined) this.readPace(last);
  }
}

/** When a file or folder last changed; 0 where there is none. */
const timeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
