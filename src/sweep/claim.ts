/**
 * The next run for a process to work on. The claim is the lock of the run's own folder, so whoever shares the folder takes
 * part, and nobody needs to know of anybody. What is looked at without the claim only saves time; what counts is looked at
 * again with it.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { LockWatch, ownerOf } from "../files/folder-lock.js";
import { DONE_FILE } from "../records/run.js";
import { lockOf, RunFolder } from "../training/run-folder.js";
import { idsWithAttempts, readAttempts } from "./attempts.js";
import { cancelledIds, isCancelled } from "./cancel-marks.js";
import type { ListedRun } from "./run-list.js";
import { sweepPaths } from "./sweep-folder.js";

/** A run, with its folder for this process alone. */
export interface Claim {
  readonly run: ListedRun;
  readonly folder: RunFolder;
}

/** Gives out runs of a sweep. */
export class Claims {
  /** Those not known to be done. */
  private open: ListedRun[];
  private readonly watches = new Map<string, LockWatch>();
  private readonly paths: ReturnType<typeof sweepPaths>;

  /** `first` is where in the list to begin: processes that start together go into each other's way less. */
  constructor(
    private readonly folder: string,
    runs: readonly ListedRun[],
    first = 0,
  ) {
    this.paths = sweepPaths(folder);
    const at = runs.length === 0 ? 0 : first % runs.length;
    this.open = [...runs.slice(at), ...runs.slice(0, at)];
  }

  /** Runs not done when last looked at. */
  get left(): readonly ListedRun[] {
    return this.open;
  }

  /** Claims the next waiting run; undefined where there is none. */
  next(): Claim | undefined {
    for (const run of this.waiting()) {
      const path = this.paths.run(run.name);
      const folder = RunFolder.tryOwn(path, this.watch(run));
      if (!folder) continue;
      if (!folder.isDone && this.isWanted(run)) return { run, folder };
      folder[Symbol.dispose]();
    }
    return undefined;
  }

  /** The runs that could be claimed now, as far as one can tell without claiming; those done are dropped on the way. */
  *waiting(): Generator<ListedRun> {
    const known = idsWithAttempts(this.folder);
    const cancelled = cancelledIds(this.folder);
    for (const run of this.notDone()) {
      if (cancelled.has(run.id)) continue;
      if (known.has(run.id) && readAttempts(this.folder, run.id).verdict !== null) continue;
      if (!this.isTaken(run)) yield run;
    }
  }

  /** Whether any run is in others' hands: who may yet die, or who may be dead already and has not been seen to beat. */
  anyTaken({ evenIfBeating }: { readonly evenIfBeating: boolean }): boolean {
    let any = false;
    // All of them are looked at, so that all are watched from now on.
    for (const run of this.notDone()) any = (this.isTaken(run) && (evenIfBeating || !this.watch(run).alive)) || any;
    return any;
  }

  private *notDone(): Generator<ListedRun> {
    const done = new Set<ListedRun>();
    try {
      for (const run of this.open)
        if (existsSync(join(this.paths.run(run.name), DONE_FILE))) done.add(run);
        else yield run;
    } finally {
      if (done.size > 0) this.open = this.open.filter((run) => !done.has(run));
    }
  }

  private isTaken(run: ListedRun): boolean {
    const lock = lockOf(this.paths.run(run.name));
    return ownerOf(lock) !== undefined && this.watch(run).deadOwner() === undefined;
  }

  /** One watch a run, kept: it remembers since when a lock stands still. */
  private watch({ id, name }: ListedRun): LockWatch {
    const watch = this.watches.get(id) ?? new LockWatch(lockOf(this.paths.run(name)));
    this.watches.set(id, watch);
    return watch;
  }

  private isWanted({ id }: ListedRun): boolean {
    return readAttempts(this.folder, id).verdict === null && !isCancelled(this.folder, id);
  }
}
