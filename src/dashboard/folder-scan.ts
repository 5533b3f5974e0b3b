/**
 * Which runs and sweeps there are under a folder, kept up to date at little cost: a folder is listed again only when its time
 * changed. Links are followed where they stay inside; hidden names are passed over.
 */

import { type Dirent, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { byCodePoint } from "../data/code-point-order.js";
import { SETTINGS_FILE } from "../records/run.js";
import { PLAN_FILE, SWEEP_FILE } from "../sweep/sweep-folder.js";
import { liesIn } from "./inside.js";

/** Deep enough for a folder of sweeps of runs, as the report reads them. */
const DEEPEST = 4;

const SLICE_MS = 12;

/** A folder whose time is so young, in milliseconds, is listed again: the clock's grain may hide a change. */
const YOUNG_MS = 2_000;

/** What was found, by path below the root with `/` between names. */
export interface Found {
  readonly id: string;
  readonly folder: string;
  /** The id of the sweep around it. */
  readonly sweep: string | null;
}

interface Listed {
  time: number;
  kind: "run" | "sweep" | "plain";
  children: readonly Found[];
}

export class FolderScan {
  private readonly listed = new Map<string, Listed>();
  /** What the last look found. */
  runs: ReadonlyMap<string, Found> = new Map();
  sweeps: ReadonlyMap<string, Found> = new Map();

  /** `root` is a real path. */
  constructor(private readonly root: string) {}

  /** Looks again, in slices: a folder may hold more than runs. */
  async look(): Promise<void> {
    const [runs, sweeps] = [new Map<string, Found>(), new Map<string, Found>()];
    const seen = new Set<string>();
    const open: [found: Found, depth: number][] = [[{ id: ".", folder: this.root, sweep: null }, 0]];
    let since = performance.now();
    for (let next = open.pop(); next; next = open.pop()) {
      const [found, depth] = next;
      if (seen.has(found.folder)) continue;
      seen.add(found.folder);
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
    for (const folder of this.listed.keys()) if (!seen.has(folder)) this.listed.delete(folder);
    [this.runs, this.sweeps] = [runs, sweeps];
  }

  private list(found: Found): Listed {
    const before = this.listed.get(found.folder);
    if (before?.kind === "run") return before; // runs look after themselves
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

  private read(found: Found): Omit<Listed, "time"> {
    if (existsSync(join(found.folder, SETTINGS_FILE))) return { kind: "run", children: [] };
    const entries = readdirSync(found.folder, { withFileTypes: true });
    const has = (name: string): boolean => entries.some((entry) => entry.name === name && !entry.isDirectory());
    const isSweep = has(SWEEP_FILE) && has(PLAN_FILE);
    const inside = entries
      .filter(({ name }) => !name.startsWith(".") && (!isSweep || name === "runs"))
      .map((entry) => this.folderOf(found.folder, entry))
      .filter((folder) => folder !== undefined)
      .sort(byCodePoint);
    const sweep = isSweep ? found.id : found.sweep;
    const children = inside.map((folder) => ({ id: this.idOf(folder), folder, sweep }));
    return { kind: isSweep ? "sweep" : "plain", children };
  }

  /** The real path of a folder inside ours; undefined for anything else, and for links that lead out. */
  private folderOf(parent: string, entry: Dirent): string | undefined {
    const path = join(parent, entry.name);
    if (entry.isDirectory()) return path;
    if (!entry.isSymbolicLink()) return undefined;
    try {
      const real = realpathSync(path);
      return liesIn(this.root, real) && statSync(real).isDirectory() ? real : undefined;
    } catch {
      return undefined;
    }
  }

  private readonly idOf = (folder: string): string => relative(this.root, folder).split(sep).join("/") || ".";
}
