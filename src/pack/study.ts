/**
 * The content of a study to pack: the runs of a sweep, of a folder of runs, of a single run, or of an existing pack.
 */

import { statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { byCodePoint } from "../data/code-point-order.js";
import { DataError, UsageError } from "../errors.js";
import { onceEach } from "../files/once-each.js";
import { FolderFiles, type StoredFiles } from "../files/stored-files.js";
import { DONE_FILE, isRunFolder } from "../records/run.js";
import { isSweepFolder, planLines, SWEEP_FILE } from "../sweep/sweep-folder.js";
import { PackFile } from "./pack-file.js";

/** A run and its folder in the pack. */
export interface StudyRun {
  readonly folder: string;
  readonly files: StoredFiles;
}

export interface Study {
  /** The files of the sweep itself; undefined if the runs do not belong to a sweep. */
  readonly sweep: StoredFiles | undefined;
  /** Sorted by folder. */
  readonly runs: readonly StudyRun[];
  /** Problems with files that could not be read. */
  readonly notes: readonly string[];
}

/** The depth of nested folders of runs, as in reports. */
const DEEPEST = 4;

/**
 * Combines several sources into a study. A run that is in several is taken from the one in which it is finished, or
 * from the first.
 */
export function openStudy(places: readonly string[]): Study {
  const studies = places.map(openOne);
  const [first, ...others] = studies.flatMap(({ sweep }) => sweep ?? []);
  for (const other of others) checkPlan(first, other);
  const runs = new Map<string, StudyRun>();
  for (const run of studies.flatMap((study) => study.runs)) {
    const before = runs.get(run.folder);
    if (!before || (!before.files.has(DONE_FILE) && run.files.has(DONE_FILE))) runs.set(run.folder, run);
  }
  return {
    sweep: first,
    runs: [...runs.values()].sort((a, b) => byCodePoint(a.folder, b.folder)),
    notes: studies.flatMap(({ notes }) => notes),
  };
}

function openOne(place: string): Study {
  const stat = statSync(place, { throwIfNoEntry: false });
  if (!stat)
    throw new UsageError(`pack: ${place}: no such folder. Give a sweep, a folder of runs, or a pack to add runs to`);
  if (stat.isFile()) {
    const pack = new PackFile(place);
    const runs = Array.from(pack.runs(), (files) => ({ folder: files.folder, files }));
    return { sweep: pack.study.has(SWEEP_FILE) ? pack.study : undefined, runs, notes: pack.notes };
  }
  if (isSweepFolder(place))
    return { sweep: new FolderFiles(place), runs: runsIn(join(place, "runs"), "runs"), notes: [] };
  if (isRunFolder(place))
    return { sweep: undefined, runs: [{ folder: basename(resolve(place)), files: new FolderFiles(place) }], notes: [] };
  const runs = runsIn(place, "");
  const own = new Set(onceEach(runs.map(({ files }) => files.path)));
  return { sweep: undefined, runs: runs.filter(({ files }) => own.has(files.path)), notes: [] };
}

/** The run folders below a folder, named by their path from `start`. */
function runsIn(folder: string, start: string, depth = 0): StudyRun[] {
  const names = new FolderFiles(folder).names("").filter((name) => !name.startsWith("."));
  return names.flatMap((name) => {
    const path = join(folder, name);
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [];
    const below = start === "" ? name : `${start}/${name}`;
    if (isRunFolder(path)) return [{ folder: below, files: new FolderFiles(path) }];
    if (isSweepFolder(path))
      throw new UsageError(
        `pack: ${path} is a sweep of its own inside ${folder}. Pack each sweep into a file of its own`,
      );
    return depth < DEEPEST ? runsIn(path, below, depth + 1) : [];
  });
}

/** The plan that is kept must contain everything that the others planned. */
function checkPlan(kept: StoredFiles, other: StoredFiles): void {
  const ids = new Set(Array.from(planLines(kept), ({ id }) => id));
  for (const { id, title } of planLines(other))
    if (!ids.has(id))
      throw new DataError(
        `pack: ${other.path} plans a run that ${kept.path} does not (${title}), so they are no pieces of one study. Give the larger plan first, or pack each into a file of its own`,
      );
}
