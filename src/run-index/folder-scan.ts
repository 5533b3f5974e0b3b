/**
 * Finds the runs, sweeps and packs in some folders and keeps the list up to date at little cost: a folder or a pack is read
 * again only when its modification time changes. Hidden names are skipped.
 */

import { type Dirent, existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { byCodePoint } from "../data/code-point-order.js";
import { InsideFiles, liesIn } from "../files/inside-files.js";
import { FolderFiles, type StoredFiles } from "../files/stored-files.js";
import { isPackName, PackFile } from "../pack/pack-file.js";
import { RESULTS_FILE } from "../records/domainbed.js";
import { SETTINGS_FILE } from "../records/run.js";
import { SWEEP_FILE } from "../sweep/sweep-folder.js";

/** The maximum depth, enough for a folder of sweeps with their runs. */
const DEEPEST = 4;

/** The depth of run folders in a sweep, and the beginning of their names. */
const RUN_DEPTH = 2;
const RUN_NAME = /[/\\][0-9a-f]{16}[^/\\]*$/;

/**
 * A folder that changed within this time, in milliseconds, is listed again, because the resolution of the clock may
 * hide a change.
 */
const YOUNG_MS = 2_000;

/** A folder or a pack that is scanned. */
export interface Place {
  /** The prefix of the ids of everything in it; may be empty. */
  readonly id: string;
  readonly path: string;
  /** Whether links that lead out of the folder are ignored. Its path must not contain links then. */
  readonly isConfined: boolean;
}

/** A folder or a pack that was found, or a run in a pack. */
export interface Found {
  /** Its path relative to the place, with `/` between names. */
  readonly id: string;
  readonly path: string;
  /** Its path with all links resolved. */
  readonly real: string;
  readonly depth: number;
  readonly place: Place;
  /** The sweep that contains it. */
  readonly sweep: Found | undefined;
  readonly files: StoredFiles;
}

/** The content of a folder. Run folders of a sweep count as runs even before they have settings. `results` are those of another testbed. */
export interface Listed {
  readonly kind: "run" | "sweep" | "results" | "pack" | "plain";
  readonly children: readonly Found[];
  /** The names of files that are not read. */
  readonly foreign: readonly string[];
  /** Why it could not be read, and which parts of a pack could not be read. */
  readonly problem?: Error;
  readonly notes?: readonly string[];
  /** The sweep in a pack. */
  readonly study?: Found;
}

export interface Looked {
  readonly found: Found;
  readonly kind: Listed["kind"];
}

type Timed = Listed & { readonly time: number };

const NOTHING = { time: 0, kind: "plain", children: [], foreign: [] } as const;

export class FolderScan {
  private readonly listed = new Map<string, Timed>();
  readonly roots: readonly Found[];

  constructor(places: readonly Place[]) {
    this.roots = places.map((place) =>
      foundAt(place, {
        id: place.id || ".",
        path: place.path,
        real: realpathSync(place.path),
        depth: 0,
        sweep: undefined,
      }),
    );
  }

  /** The result of the last scan of a folder. */
  at({ real }: Found): Listed {
    return this.listed.get(real) ?? NOTHING;
  }

  all(): Iterable<Listed> {
    return this.listed.values();
  }

  /** Scans again, depth first. Yields every run and sweep, and every other folder and pack, so that the caller can pause. */
  *look(): Generator<Looked> {
    const seen = new Set<string>();
    const open = this.roots.toReversed();
    for (let next = open.pop(); next; next = open.pop()) {
      if (seen.has(next.real)) continue;
      seen.add(next.real);
      if (isPackFile(next)) {
        yield* this.pack(next);
        continue;
      }
      const { kind, children } = this.list(next);
      yield { found: next, kind };
      // Backwards, because the last one added is taken first.
      if (next.depth < DEEPEST) for (let i = children.length - 1; i >= 0; i--) open.push(children[i]);
    }
    for (const folder of this.listed.keys()) if (!seen.has(folder)) this.listed.delete(folder);
  }

  private list(found: Found): Listed {
    const before = this.listed.get(found.real);
    if (before?.kind === "run") return before; // runs track their own changes
    let now: Timed = NOTHING;
    try {
      const isMade = found.sweep !== undefined && found.depth === RUN_DEPTH && RUN_NAME.test(found.path);
      const isRun = isMade || existsSync(join(found.path, SETTINGS_FILE));
      const time = isRun ? 0 : statSync(found.path).mtimeMs;
      if (!isRun && before?.time === time && Date.now() - time > YOUNG_MS) return before;
      now = isRun ? RUN : { time, ...read(found) };
    } catch (problem) {
      now = { ...NOTHING, problem: problem as Error }; // it was removed, or cannot be read
    }
    this.listed.set(found.real, now);
    return now;
  }

  /** A pack and its runs. Each run is yielded as soon as it is read, because the blocks of a pack stay in memory only for a short time. */
  private *pack(found: Found): Generator<Looked> {
    const before = this.listed.get(found.real);
    const children: Found[] = [];
    let now: Timed = { ...NOTHING, kind: "pack", children };
    try {
      const { mtimeMs, size } = statSync(found.path);
      now = { ...now, time: mtimeMs + size };
      if (before?.time === now.time) now = before;
      else {
        const pack = new PackFile(found.path);
        for (const files of pack.runs()) {
          if (!now.study) now = { ...now, study: studyIn(found, pack) };
          if (children.length === 0 && now.study) yield { found: now.study, kind: "sweep" };
          const id = found.id === "." ? files.folder : `${found.id}/${files.folder}`;
          const run: Found = { ...found, id, path: files.path, real: files.path, sweep: now.study, files };
          children.push(run);
          yield { found: run, kind: "run" };
        }
        now = { ...now, study: now.study ?? studyIn(found, pack), notes: pack.notes };
      }
    } catch (problem) {
      now = { ...now, problem: problem as Error };
    }
    this.listed.set(found.real, now);
    yield { found, kind: "pack" };
    if (now.study && (now === before || children.length === 0)) yield { found: now.study, kind: "sweep" };
    if (now === before) for (const run of now.children) yield { found: run, kind: "run" };
  }
}

/** The sweep of the runs in a pack. It is complete when the first run is read. */
const studyIn = (found: Found, { study }: PackFile): Found | undefined =>
  study.has(SWEEP_FILE) ? { ...found, files: study } : undefined;

const RUN: Timed = { ...NOTHING, kind: "run" };

function read(found: Found): Listed {
  const entries = readdirSync(found.path, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith("."))
    // Links come last, so that a run is listed under its own name.
    .sort((a, b) => Number(a.isSymbolicLink()) - Number(b.isSymbolicLink()) || byCodePoint(a.name, b.name));
  const has = (name: string): boolean => entries.some((entry) => entry.name === name && !entry.isDirectory());
  const kind = has(RESULTS_FILE) ? "results" : has(SWEEP_FILE) ? "sweep" : "plain";
  if (kind === "results") return { kind, children: [], foreign: [] };
  const sweep = kind === "sweep" ? found : found.sweep;
  const children: Found[] = [];
  const foreign: string[] = [];
  for (const entry of entries) {
    if (kind === "sweep" && entry.name !== "runs") continue;
    const child = childOf(found, entry, sweep);
    if (child) children.push(child);
    else foreign.push(entry.name);
  }
  return { kind, children, foreign };
}

/** An entry of a folder, if it is a folder or a pack; undefined for anything else, and for links that lead out of a confined place. */
function childOf(parent: Found, entry: Dirent, sweep: Found | undefined): Found | undefined {
  const { place } = parent;
  const id = parent.id === "." ? entry.name : `${parent.id}/${entry.name}`;
  const path = join(parent.path, entry.name);
  const real = parent.path === parent.real ? path : `${parent.real}${sep}${entry.name}`;
  // The runs of a sweep are found at any depth.
  const at = { id, path, real, depth: sweep === parent ? 1 : parent.depth + 1, sweep };
  if (entry.isDirectory() || (entry.isFile() && isPackName(path))) return foundAt(place, at);
  if (!entry.isSymbolicLink()) return undefined;
  try {
    const target = realpathSync(path);
    const isFolder = statSync(target).isDirectory();
    if (!place.isConfined) return isFolder || isPackName(path) ? foundAt(place, { ...at, real: target }) : undefined;
    if (!isFolder || !liesIn(place.path, target)) return undefined;
    return foundAt(place, { ...at, id: idIn(place, target), path: target, real: target });
  } catch {
    return undefined;
  }
}

function foundAt(place: Place, at: Omit<Found, "place" | "files">): Found {
  const { id, path, real, depth, sweep } = at;
  const files = place.isConfined ? new InsideFiles(place.path, path) : new FolderFiles(path);
  return { id, path, real, depth, place, sweep, files };
}

const idIn = (place: Place, path: string): string =>
  [place.id, ...relative(place.path, path).split(sep)].filter((name) => name !== "").join("/") || ".";

const isPackFile = ({ path, depth }: Found): boolean =>
  (depth === 0 || isPackName(path)) && statSync(path, { throwIfNoEntry: false })?.isFile() === true;
