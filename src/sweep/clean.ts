/** Finds what can be deleted from a sweep, with sizes, and deletes it on request. */

import { existsSync, lstatSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { ownerOf } from "../files/folder-lock.js";
import { DONE_FILE, RETRAINED } from "../records/run.js";
import { lockOf, RunFolder } from "../training/run-folder.js";
import { forgetAttempts } from "./attempts.js";
import { combinationsOf } from "./combinations.js";
import { checkSweepPlaces, planLines, sweepPaths } from "./sweep-folder.js";

/** Kinds of things that can be deleted. */
export interface CleanWishes {
  /** Models of finished runs. */
  readonly models: boolean;
  /** Everything of runs that are not done and on which no process is working. */
  readonly unfinished: boolean;
  /** Runs that are not in the plan, for example after it was edited by hand. */
  readonly unplanned: boolean;
  /** Finished runs, with their records. */
  readonly done: boolean;
}

/** Something to delete. */
export interface Waste {
  readonly kind: string;
  readonly path: string;
  readonly bytes: number;
  /** The id of the run, if its whole folder is deleted. No process may be working on it. */
  readonly run?: { readonly id: string };
}

/** Finds what can be deleted. Checkpoints of finished runs always can: only resuming needs them. */
export function findWaste(folder: string, wishes: CleanWishes): Waste[] {
  const paths = sweepPaths(folder);
  const planned = new Set(Array.from([...planLines(folder), ...combinationsOf(folder)], ({ name }) => name));
  checkSweepPlaces(folder);
  const names = existsSync(paths.runs) ? foldersIn(paths.runs) : [];
  const ofRuns = names.flatMap((name): Waste[] => {
    const path = paths.run(name);
    const whole = (kind: string): Waste[] => [{ kind, path, bytes: sizeOf(path), run: { id: name.slice(0, 16) } }];
    if (!planned.has(name)) return wishes.unplanned ? whole("runs that are not in the plan") : [];
    if (!existsSync(join(path, DONE_FILE))) {
      const free = wishes.unfinished && ownerOf(lockOf(path)) === undefined;
      return free ? whole("runs that are not done") : [];
    }
    if (wishes.done) return whole("runs that are done, with their records");
    return partsOf(path, wishes.models);
  });
  return [...ofRuns, ...[folder, paths.attempts, paths.launch].flatMap(halfWritten)];
}

/** The folders in a folder. Links are not: what they lead to is not part of the sweep. */
const foldersIn = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));

/** Temporary files of killed processes. Writers do not keep them for long, so only old ones are deleted. */
function halfWritten(folder: string): Waste[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => /^\..*\.tmp$/.test(name)) : [];
  return names.flatMap((name): Waste[] => {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    const old = found !== undefined && Date.now() - found.mtimeMs > HOUR_MS;
    return old ? [{ kind: "files that killed processes were writing", path, bytes: found.size }] : [];
  });
}

const HOUR_MS = 3_600_000;

const MODELS = "models";

function partsOf(run: string, models: boolean): Waste[] {
  const part = (kind: string, name: string): Waste => ({ kind, path: join(run, name), bytes: sizeOf(join(run, name)) });
  return readdirSync(run, { withFileTypes: true }).flatMap((entry) => {
    const { name } = entry;
    if (entry.isSymbolicLink()) return []; // what it leads to is not part of the sweep
    if (name === RETRAINED) return partsOf(join(run, name), models); // the second training
    if (name === "checkpoint") return [part("checkpoints of runs that are done", name)];
    if (models && /^model.*\.safetensors$/.test(name)) return [part(MODELS, name)];
    return [];
  });
}

/** The model files of a run, also of its second training. */
export const modelsIn = (run: string): string[] =>
  partsOf(run, true).flatMap(({ kind, path }) => (kind === MODELS ? [path] : []));

/** The bytes of a file, or of all files in a folder; 0 if there is none. */
export function sizeOf(path: string): number {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found?.size ?? 0;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

/** Deletes them, except runs that another process has started to work on. Returns what was deleted. */
export function removeWaste(folder: string, waste: readonly Waste[]): Waste[] {
  return waste.filter(({ path, run }) => {
    if (!run) rmSync(path, { recursive: true, force: true });
    else if (!removeRun(path)) return false;
    else forgetAttempts(folder, run.id);
    return true;
  });
}

function removeRun(path: string): boolean {
  using owned = RunFolder.tryOwn(path);
  if (!owned) return false;
  rmSync(path, { recursive: true, force: true });
  return true;
}
