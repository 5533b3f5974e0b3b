/**
 * Claims the next run for a process. The claim is the lock of the run folder, so every process that shares the folder
 * can take part without knowing of the others. Checks without the claim only save time; they are repeated with the
 * claim.
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

/** A run whose folder this process owns. */
export interface Claim {
  readonly run: ListedRun;
  readonly folder: RunFolder;
}

/** Gives out runs of a sweep. */
export class Claims {
  /** Runs that are not known to be done. */
  private open: ListedRun[];
  private readonly watches = new Map<string, LockWatch>();
  private readonly paths: ReturnType<typeof sweepPaths>;

  /** `first` is the position at which to start, so that processes that start together rarely compete. */
  constructor(
    private readonly folder: string,
    runs: readonly ListedRun[],
    first = 0,
  ) {
    this.paths = sweepPaths(folder);
    const at = runs.length === 0 ? 0 : first % runs.length;
    this.open = [...runs.slice(at), ...runs.slice(0, at)];
  }

  /** The runs that were not done at the last check. */
  get left(): readonly ListedRun[] {
    return this.open;
  }

  /** Claims the next waiting run; undefined if there is none. */
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

  /** The runs that can be claimed now, as far as this is visible without claiming. Finished runs are dropped. */
  *waiting(): Generator<ListedRun> {
    const known = idsWithAttempts(this.folder);
    const cancelled = cancelledIds(this.folder);
    for (const run of this.notDone()) {
      if (cancelled.has(run.id)) continue;
      if (known.has(run.id) && readAttempts(this.folder, run.id).verdict !== null) continue;
      if (!this.isTaken(run)) yield run;
    }
  }

  /**
   * Whether other processes hold any run. They may fail, or may have failed already without their lock having timed
   * out.
   */
  anyTaken({ evenIfBeating }: { readonly evenIfBeating: boolean }): boolean {
    let any = false;
    // All of them are checked, so that all locks are observed from now on.
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

  /** One observer per run, which remembers since when a lock has not been renewed. */
  private watch({ id, name }: ListedRun): LockWatch {
    const watch = this.watches.get(id) ?? new LockWatch(lockOf(this.paths.run(name)));
    this.watches.set(id, watch);
    return watch;
  }

  private isWanted({ id }: ListedRun): boolean {
    return readAttempts(this.folder, id).verdict === null && !isCancelled(this.folder, id);
  }
}
