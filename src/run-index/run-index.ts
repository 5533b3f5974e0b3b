/**
 * All runs and sweeps in some folders and packs, in memory and kept up to date by polling: the index that `nudge report`,
 * `nudge sweep status` and the dashboard read. A scan reads what changed since the last one, and each reader requests as much
 * as it needs: the list of runs (`find`), their states (`IndexedRun.lookAtState`), their accuracies (`IndexedRun.result`), or
 * all of this repeatedly (`look`).
 *
 * The index polls because file system notifications do not work across network disks, and ten thousand of them cost more than
 * checking the few running runs. Scans are generators, so that a server can answer requests between two steps of a scan.
 */

import { basename } from "node:path";
import { FolderFiles, type StoredFiles } from "../files/stored-files.js";
import { RunReader } from "../records/run-reader.js";
import { FolderScan, type Found, type Place } from "./folder-scan.js";
import { type Change, IndexedRun } from "./indexed-run.js";
import { IndexedSweep } from "./indexed-sweep.js";

/** The number of finished runs that each scan checks for changes. */
const DONE_A_LOOK = 200;

export class RunIndex {
  readonly places: readonly Place[];
  /** The content of the folders and packs. */
  readonly scan: FolderScan;
  /** The runs and sweeps that were found, by id. */
  readonly runs = new Map<string, IndexedRun>();
  readonly sweeps = new Map<string, IndexedSweep>();
  private readonly reader = new RunReader();
  private toCheck: IndexedRun[] = [];
  /** Whether the runs, plans or decisions changed at the last scan. */
  hasChanged = false;

  /** `isConfined` is for folders with untrusted content: links out of them are not followed. Their paths must not contain links. */
  constructor(paths: readonly string[], { isConfined = false } = {}) {
    this.places = placesAt(paths, isConfined);
    this.scan = new FolderScan(this.places);
  }

  /** Finds the existing runs and sweeps. Yields each run, and undefined in between, so that the caller can pause. */
  *find(): Generator<IndexedRun | undefined> {
    const seen = new Set<string>();
    this.hasChanged = false;
    for (const { found, kind } of this.scan.look()) {
      if (kind === "run") yield this.addRun(found);
      else if (kind === "sweep") yield this.addSweep(found);
      else yield;
      seen.add(found.id);
    }
    for (const known of [this.runs, this.sweeps])
      for (const id of known.keys())
        if (!seen.has(id)) {
          known.delete(id);
          this.hasChanged = true;
        }
  }

  /** Finds the runs and checks each again; yields those that changed. */
  *look(): Generator<{ readonly run: IndexedRun; readonly change: Change } | undefined> {
    for (const _ of this.find()) yield;
    this.checkSomeDone();
    for (const run of this.runs.values()) yield { run, change: run.refresh() };
  }

  private addSweep({ id, files }: Found): undefined {
    let sweep = this.sweeps.get(id);
    if (!sweep || !areSame(sweep.files, files)) sweep = new IndexedSweep(id, files);
    this.sweeps.set(id, sweep);
    if (sweep.refresh()) this.hasChanged = true;
  }

  private addRun({ id, files, sweep }: Found): IndexedRun {
    let run = this.runs.get(id);
    if (!run || !areSame(run.files, files) || run.sweep?.id !== sweep?.id) {
      run = new IndexedRun(id, files, sweep && this.sweeps.get(sweep.id), this.reader);
      this.runs.set(id, run);
      this.hasChanged = true;
    }
    return run;
  }

  /** Checks some finished runs, which may have been removed and started again since the last scan. */
  private checkSomeDone(): void {
    if (this.toCheck.length === 0) this.toCheck = [...this.runs.values()].filter(({ isDone }) => isDone);
    for (const { id, files, sweep, isAnother } of this.toCheck.splice(-DONE_A_LOOK))
      if (isAnother && this.runs.get(id)?.files === files)
        this.runs.set(id, new IndexedRun(id, files, sweep, this.reader));
  }
}

/** Whether two objects stand for the same files. A folder gets a new object whenever it is listed again; a pack only when it was replaced. */
const areSame = (before: StoredFiles, now: StoredFiles): boolean =>
  before === now || (before instanceof FolderFiles && before.path === now.path);

/**
 * With one place, ids have no prefix; with several, the prefix is its name, with a number if the name is not unique.
 */
function placesAt(paths: readonly string[], isConfined: boolean): Place[] {
  if (paths.length === 1) return [{ id: "", path: paths[0], isConfined }];
  const names = paths.map((path) => basename(path));
  const isTwice = (name: string): boolean =>
    ["", ".", ".."].includes(name) || names.indexOf(name) !== names.lastIndexOf(name);
  return paths.map((path, i) => ({ id: isTwice(names[i]) ? `${names[i]}-${i + 1}` : names[i], path, isConfined }));
}
