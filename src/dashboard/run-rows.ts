/**
 * The rows of the page: all runs of the index, planned runs without a folder, and sweeps, each as it was last sent. A look is
 * made in short slices, so that the server answers while a large folder is read for the first time.
 */

import { setImmediate as turn } from "node:timers/promises";
import type { IndexedRun } from "../run-index/indexed-run.js";
import { RunIndex } from "../run-index/run-index.js";
import type { RunState, SweepGrid, SweepRow } from "./api.js";
import { runRow } from "./run-row.js";
import { SweepRows } from "./sweep-rows.js";

/** The length of a slice of reading in milliseconds, which is the longest delay of a request. */
const SLICE_MS = 12;

/** The number of rows sent at once while there are many, so that a page can show the first while the others are on their way. */
export const ROWS_A_PIECE = 500;

/** The changes since the last scan. */
export interface Changes {
  /** New and changed rows, each as JSON. */
  runs: string[];
  gone: string[];
  sweeps: SweepRow[];
}

export class RunRows {
  readonly index: RunIndex;
  /** Runs that were read, each as JSON. */
  private readonly sent = new Map<string, string>();
  private readonly sweeps = new Map<string, SweepRows>();
  /** Planned runs without a folder, as they were sent. */
  private waiting = new Map<string, string>();
  private readonly sweepRows = new Map<string, string>();
  /** Notes on packs that were printed. */
  private readonly printed = new Set<string>();
  /** Increases whenever a number of a table may have changed. */
  version = 0;
  /** The number of runs found and read. */
  progress = { read: 0, found: 0 };

  /** `paths` are real paths of folders and packs. */
  constructor(...paths: string[]) {
    this.index = new RunIndex(paths, { isConfined: true });
  }

  /** Scans again. `tell` receives the changes, in parts if there are many. */
  async look(tell: (changes: Changes) => void, stopped: () => boolean = () => false): Promise<void> {
    let changes: Changes = { runs: [], gone: [], sweeps: [] };
    const give = (): void => {
      if (changes.runs.length + changes.gone.length + changes.sweeps.length > 0) tell(changes);
      changes = { runs: [], gone: [], sweeps: [] };
    };
    let since = performance.now();
    let read = 0;
    let isNew = false;
    for (const looked of this.index.look()) {
      if (looked) {
        const { run, change } = looked;
        if (read === 0) this.forgetGone(changes);
        const json = change === "none" ? undefined : JSON.stringify(runRow(run));
        if (json !== undefined && json !== this.sent.get(run.id)) {
          isNew ||= !this.sent.has(run.id);
          this.sent.set(run.id, json);
          changes.runs.push(json);
        }
        if (change === "numbers") this.version++;
        this.progress = { read: Math.max(this.progress.read, ++read), found: this.index.runs.size };
      }
      if (performance.now() - since > SLICE_MS) {
        if (changes.runs.length >= ROWS_A_PIECE) give();
        await turn();
        if (stopped()) return;
        since = performance.now();
      }
    }
    if (read === 0) this.forgetGone(changes);
    this.progress = { read: this.index.runs.size, found: this.index.runs.size };
    this.printNotes();
    if (this.index.hasChanged || isNew) this.findWaiting(changes);
    changes.sweeps.push(...this.changedSweeps());
    give();
  }

  /** The run of this id; only runs that were found have one. */
  run(id: string): IndexedRun | undefined {
    return this.index.runs.get(id);
  }

  /** All runs that were read, of one sweep where it is named. */
  *runs(sweep?: string): Generator<IndexedRun> {
    for (const run of this.index.runs.values())
      if (this.sent.has(run.id) && (sweep === undefined || run.sweep?.id === sweep)) yield run;
  }

  /** The current rows, each as JSON. */
  rows(): string[] {
    return [...this.sent.values(), ...this.waiting.values()];
  }

  sweepList(): SweepRow[] {
    return Array.from(this.sweeps.values(), (sweep) => sweep.row(this.stateOf));
  }

  /** The grid of a sweep; undefined if there is no such sweep. */
  grid(id: string): SweepGrid | undefined {
    return this.sweeps.get(id)?.grid(this.stateOf);
  }

  private readonly stateOf = (id: string): RunState | undefined => {
    const run = this.index.runs.get(id);
    return run && (run.isBare || this.sent.has(id)) ? run.state : undefined;
  };

  private forgetGone(changes: Changes): void {
    for (const id of this.sent.keys())
      if (!this.index.runs.get(id)) {
        this.sent.delete(id);
        changes.gone.push(id);
      }
    if (changes.gone.length > 0) this.version++;
    this.progress = { read: Math.min(this.progress.read, this.index.runs.size), found: this.index.runs.size };
  }

  /** What is wrong with packs; folders that cannot be read are as if empty. */
  private printNotes(): void {
    for (const { kind, notes = [], problem } of this.index.scan.all())
      if (kind === "pack")
        for (const note of [...notes, ...(problem ? [problem.message] : [])])
          if (!this.printed.has(note)) {
            this.printed.add(note);
            process.stderr.write(`nudge: ${note}\n`);
          }
  }

  private findWaiting(changes: Changes): void {
    const { sweeps } = this.index;
    for (const id of this.sweeps.keys()) if (!sweeps.has(id)) this.sweeps.delete(id);
    for (const [id, sweep] of sweeps)
      if (this.sweeps.get(id)?.sweep !== sweep) this.sweeps.set(id, new SweepRows(sweep));
    const rows = [...this.sweeps.values()].flatMap((sweep) => sweep.waiting((id) => this.sent.has(id), this.stateOf));
    const now = new Map(rows.map((row) => [row.id, JSON.stringify(row)]));
    for (const [id, row] of now) if (this.waiting.get(id) !== row) changes.runs.push(row);
    for (const id of this.waiting.keys()) if (!now.has(id) && !this.sent.has(id)) changes.gone.push(id);
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
