/**
 * All runs and sweeps under some folders and in packs, in memory and kept up to date by looking again. Reading is done in short slices, so that
 * the server answers while a large folder is read for the first time.
 *
 * It polls: file system notifications do not work across network disks, and ten thousand of them cost
 * more than a look at the few runs that are at work.
 */

import { basename } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import type { RunState, SweepGrid, SweepRow } from "./api.js";
import { FolderScan, type Place } from "./folder-scan.js";
import type { IndexedRun } from "./indexed-run.js";
import { PackedEntry } from "./packed-entry.js";
import { RunEntry } from "./run-entry.js";
import { SweepEntry } from "./sweep-entry.js";

/** A slice of reading, in milliseconds: no request waits longer. */
const SLICE_MS = 12;

/** The number of rows sent at once while there are many, so that a page can show the first while the others are on their way. */
export const ROWS_A_PIECE = 500;

/** Finished runs of which each look makes sure that they are still the same. */
const DONE_A_LOOK = 200;

/** What changed since the last look. */
export interface Changes {
  /** Rows that are new or changed, each as JSON. */
  runs: string[];
  gone: string[];
  sweeps: SweepRow[];
}

export class RunIndex {
  readonly places: readonly Place[];
  private readonly scan: FolderScan;
  private readonly entries = new Map<string, IndexedRun>();
  private readonly sweeps = new Map<string, SweepEntry>();
  /** Planned runs without a folder, as they were sent. */
  private waiting = new Map<string, string>();
  private readonly sweepRows = new Map<string, string>();
  private toCheck: IndexedRun[] = [];
  /** Goes up whenever a number of a table may have changed. */
  version = 0;
  /** How many of the runs found have been read. */
  progress = { read: 0, found: 0 };

  /** `paths` are real paths of folders and packs. */
  constructor(...paths: string[]) {
    this.places = namedPlaces(paths);
    this.scan = new FolderScan(this.places);
  }

  /** Looks again; `tell` gets what changed, in pieces while there is much of it. */
  async look(tell: (changes: Changes) => void, stopped: () => boolean = () => false): Promise<void> {
    await this.scan.look();
    const plansChanged = this.findSweeps();
    const { gone, added } = this.findRuns();
    this.checkSomeDone();
    let changes: Changes = { runs: [], gone, sweeps: [] };
    const give = (): void => {
      if (changes.runs.length + changes.gone.length + changes.sweeps.length > 0) tell(changes);
      changes = { runs: [], gone: [], sweeps: [] };
    };
    let since = performance.now();
    let read = 0;
    for (const entry of this.entries.values()) {
      const sweep = entry.sweep === null ? undefined : this.sweeps.get(entry.sweep);
      const change = entry.refresh(sweep?.verdictOn(entry.folder), sweep?.byHand);
      if (change !== "none") changes.runs.push(entry.json);
      if (change === "numbers") this.version++;
      this.progress = { read: Math.max(this.progress.read, ++read), found: this.entries.size };
      if (performance.now() - since > SLICE_MS) {
        if (changes.runs.length >= ROWS_A_PIECE) give();
        await turn();
        if (stopped()) return;
        since = performance.now();
      }
    }
    this.progress = { read: this.entries.size, found: this.entries.size };
    if (plansChanged || added || gone.length > 0) this.findWaiting(changes);
    changes.sweeps.push(...this.changedSweeps());
    give();
  }

  /** The run of this id; only runs that were found have one. */
  run(id: string): IndexedRun | undefined {
    return this.entries.get(id);
  }

  /** All runs, of one sweep where it is named. */
  *runs(sweep?: string): Generator<IndexedRun> {
    for (const entry of this.entries.values()) if (sweep === undefined || entry.sweep === sweep) yield entry;
  }

  /** The rows there are so far, each as JSON. */
  rows(): string[] {
    const read = Array.from(this.entries.values(), ({ json }) => json).filter((json) => json !== "");
    return [...read, ...this.waiting.values()];
  }

  sweepList(): SweepRow[] {
    return Array.from(this.sweeps.values(), (sweep) => sweep.row(this.stateOf));
  }

  /** The grid of a sweep; undefined where there is no such sweep. */
  grid(id: string): SweepGrid | undefined {
    return this.sweeps.get(id)?.grid(this.stateOf);
  }

  private readonly stateOf = (id: string): RunState | undefined => {
    const entry = this.entries.get(id);
    return entry && entry.json !== "" ? entry.state : undefined;
  };

  private findSweeps(): boolean {
    let changed = false;
    for (const id of this.sweeps.keys())
      if (!this.scan.sweeps.has(id)) {
        this.sweeps.delete(id);
        changed = true;
      }
    for (const { id, files, isPacked } of this.scan.sweeps.values()) {
      const before = this.sweeps.get(id);
      const sweep = before && (!isPacked || before.files === files) ? before : new SweepEntry(id, files);
      this.sweeps.set(id, sweep);
      if (sweep.refresh()) changed = true;
    }
    return changed;
  }

  /** Takes in new runs; returns whether there were any, and which are gone. */
  private findRuns(): { gone: string[]; added: boolean } {
    const isGone = (run: IndexedRun): boolean => {
      const found = this.scan.runs.get(run.id);
      return found === undefined || (found.isPacked === true && found.files !== run.files);
    };
    const gone = Array.from(this.entries.values())
      .filter(isGone)
      .map(({ id }) => id);
    for (const id of gone) this.entries.delete(id);
    if (gone.length > 0) this.version++;
    const before = this.entries.size;
    for (const { id, folder, place, sweep, files, isPacked } of this.scan.runs.values())
      if (!this.entries.has(id))
        this.entries.set(
          id,
          isPacked ? new PackedEntry(id, files, sweep) : new RunEntry(id, folder, sweep, place.path),
        );
    this.progress = { read: Math.min(this.progress.read, this.entries.size), found: this.entries.size };
    return { gone, added: this.entries.size > before };
  }

  /** A run that was finished can have been removed and started again between two checks. */
  private checkSomeDone(): void {
    if (this.toCheck.length === 0) this.toCheck = [...this.entries.values()].filter(({ isDone }) => isDone);
    for (const entry of this.toCheck.splice(-DONE_A_LOOK)) entry.checkDone();
  }

  private findWaiting(changes: Changes): void {
    const rows = [...this.sweeps.values()].flatMap((sweep) => sweep.waiting((id) => this.entries.has(id)));
    const now = new Map(rows.map((row) => [row.id, JSON.stringify(row)]));
    for (const [id, row] of now) if (this.waiting.get(id) !== row) changes.runs.push(row);
    for (const id of this.waiting.keys()) if (!now.has(id) && !this.entries.has(id)) changes.gone.push(id);
    this.waiting = now;
  }

  private changedSweeps(): SweepRow[] {
    const rows = this.sweepList();
    for (const id of this.sweepRows.keys()) if (!this.sweeps.has(id)) this.sweepRows.delete(id);
    return rows.filter((row) => {
      const text = JSON.stringify(row);
      const changed = this.sweepRows.get(row.id) !== text;
      this.sweepRows.set(row.id, text);
      return changed;
    });
  }
}

/** Ids of one place begin with nothing; of several, with its name, and its number where another has that name. */
function namedPlaces(paths: readonly string[]): Place[] {
  if (paths.length === 1) return [{ id: "", path: paths[0] }];
  const names = paths.map((path) => basename(path));
  const isTwice = (name: string): boolean => names.indexOf(name) !== names.lastIndexOf(name);
  return paths.map((path, i) => ({ id: isTwice(names[i]) ? `${names[i]}-${i + 1}` : names[i], path }));
}
