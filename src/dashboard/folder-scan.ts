/**
 * Which runs and sweeps there are under some folders and in packs, kept up to date at little cost: a folder or a pack is read again
 * only when its time changed. Links are followed where they stay inside; hidden names are passed over.
 */

import { type Dirent, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { byCodePoint } from "../data/code-point-order.js";
import type { StoredFiles } from "../files/stored-files.js";
import { isPackName, PackFile } from "../pack/pack-file.js";
import { SETTINGS_FILE } from "../records/run.js";
import { PLAN_FILE, SWEEP_FILE } from "../sweep/sweep-folder.js";
import { InsideFiles, liesIn } from "./inside.js";

/** Deep enough for a folder of sweeps of runs, as the report reads them. */
const DEEPEST = 4;

const SLICE_MS = 12;

/** A folder whose time is so young, in milliseconds, is listed again: the clock's grain may hide a change. */
const YOUNG_MS = 2_000;

/** What is looked at: a folder or a pack by its real path, and what the ids of all in it begin with, if anything. */
export interface Place {
  readonly id: string;
  readonly path: string;
}

/** What was found, by its path in the place with `/` between names. */
export interface Found {
  readonly id: string;
  readonly folder: string;
  readonly place: Place;
  /** The id of the sweep around it. */
  readonly sweep: string | null;
  readonly files: StoredFiles;
  readonly isPacked?: true;
}

interface Packed {
  time: number;
  study: Found | undefined;
  readonly inside: Found[];
}

interface Listed {
  time: number;
  kind: "run" | "sweep" | "plain";
  children: readonly Found[];
}

export class FolderScan {
  private readonly listed = new Map<string, Listed>();
  private readonly packs = new Map<string, Packed>();
  /** What the last look found. */
  runs: ReadonlyMap<string, Found> = new Map();
  sweeps: ReadonlyMap<string, Found> = new Map();

  constructor(private readonly places: readonly Place[]) {}

  /** Looks again, in slices: a folder may hold more than runs. */
  async look(): Promise<void> {
    const [runs, sweeps] = [new Map<string, Found>(), new Map<string, Found>()];
    const seen = new Set<string>();
    const open = this.places
      .map((place): [found: Found, depth: number] => [foundAt(place, place.path, null), 0])
      .reverse();
    let since = performance.now();
    for (let next = open.pop(); next; next = open.pop()) {
      const [found, depth] = next;
      if (seen.has(found.folder)) continue;
      seen.add(found.folder);
      if (isPackFile(found.folder)) {
        const { study, inside } = await this.pack(found);
        if (study) sweeps.set(found.id, study);
        for (const run of inside) runs.set(run.id, run);
        continue;
      }
      const { kind, children } = this.list(found);
      if (kind === "run") runs.set(found.id, found);
      else if (kind === "sweep") sweeps.set(found.id, found);
      // Backwards, since the last put there is taken first.
      if (depth < DEEPEST) for (let i = children.length - 1; i >= 0; i--) open.push([children[i], depth + 1]);
      if (performance.now() - since > SLICE_MS) {
        await turn();
        since = performance.now();
      }
    }
    for (const known of [this.listed, this.packs])
      for (const folder of known.keys()) if (!seen.has(folder)) known.delete(folder);
    [this.runs, this.sweeps] = [runs, sweeps];
  }

  private list(found: Found): Listed {
    const before = this.listed.get(found.folder);
    if (before?.kind === "run") return before; // runs track their own changes
    let now: Listed = { time: 0, kind: "plain", children: [] };
    try {
      const time = statSync(found.folder).mtimeMs;
      if (before && before.time === time && Date.now() - time > YOUNG_MS) return before;
      now = { time, ...this.read(found) };
    } catch {
      // Gone, or not ours to read: as if empty.
    }
    this.listed.set(found.folder, now);
    return now;
  }

  /** The runs of a pack, read in slices as well. */
  private async pack({ id, folder, place }: Found): Promise<Packed> {
    const before = this.packs.get(folder);
    const packed: Packed = { time: 0, study: undefined, inside: [] };
    try {
      const { mtimeMs, size } = statSync(folder);
      packed.time = mtimeMs + size;
      if (before?.time === packed.time) return before;
      const pack = new PackFile(folder);
      const start = id === "." ? "" : `${id}/`;
      let since = performance.now();
      for (const files of pack.runs()) {
        const sweep = pack.study.has(SWEEP_FILE) ? id : null;
        const run = { id: start + files.folder, folder: files.path, place, sweep, files, isPacked: true } as const;
        packed.inside.push(run);
        if (performance.now() - since < SLICE_MS) continue;
        await turn();
        since = performance.now();
      }
      if (pack.study.has(SWEEP_FILE))
        packed.study = { id, folder, place, sweep: null, files: pack.study, isPacked: true };
      for (const note of pack.notes) process.stderr.write(`nudge: ${note}\n`);
    } catch (error) {
      if (before?.time !== packed.time) process.stderr.write(`nudge: ${(error as Error).message}\n`);
    }
    this.packs.set(folder, packed);
    return packed;
  }

  private read(found: Found): Omit<Listed, "time"> {
    if (existsSync(join(found.folder, SETTINGS_FILE))) return { kind: "run", children: [] };
    const entries = readdirSync(found.folder, { withFileTypes: true });
    const has = (name: string): boolean => entries.some((entry) => entry.name === name && !entry.isDirectory());
    const isSweep = has(SWEEP_FILE) && has(PLAN_FILE);
    const inside = entries
      .filter(({ name }) => !name.startsWith(".") && (!isSweep || name === "runs"))
      .map((entry) => placeOf(found, entry))
      .filter((folder) => folder !== undefined)
      .sort(byCodePoint);
    const sweep = isSweep ? found.id : found.sweep;
    return { kind: isSweep ? "sweep" : "plain", children: inside.map((path) => foundAt(found.place, path, sweep)) };
  }
}

/** The real path of a folder or pack inside ours; undefined for anything else, and for links that lead out. */
function placeOf({ folder: parent, place }: Found, entry: Dirent): string | undefined {
  const path = join(parent, entry.name);
  if (entry.isDirectory() || (entry.isFile() && isPackName(path))) return path;
  if (!entry.isSymbolicLink()) return undefined;
  try {
    const real = realpathSync(path);
    return liesIn(place.path, real) && statSync(real).isDirectory() ? real : undefined;
  } catch {
    return undefined;
  }
}

const isPackFile = (path: string): boolean =>
  isPackName(path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true;

function foundAt(place: Place, folder: string, sweep: string | null): Found {
  const names = [place.id, ...relative(place.path, folder).split(sep)].filter((name) => name !== "");
  return { id: names.join("/") || ".", folder, place, sweep, files: new InsideFiles(place.path, folder) };
}
