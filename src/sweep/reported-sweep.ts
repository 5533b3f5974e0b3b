/**
 * A sweep as reports see it: what was asked for, how much is planned, and which runs `nudge sweep run` passes over because
 * they failed, were taken out or were given up. Titles are read only where something failed: a plan may be long.
 */

import { DataError } from "../errors.js";
import { filesOf, type StoredFiles } from "../files/stored-files.js";
import { DONE_FILE } from "../records/run.js";
import { idsWithAttempts, readAttempts } from "./attempts.js";
import { cancelledIds } from "./cancel-marks.js";
import { sharedSettings, shortLine, shortTitle } from "./short-titles.js";
import { type PlannedRun, planLines, readSweepFile } from "./sweep-folder.js";

/** A sweep some of whose runs may still be to come. */
export interface ReportedSweep {
  /** Its folder, or the pack that it was read from. */
  readonly folder: string;
  readonly packed?: true;
  /** How many runs the plan has. */
  readonly planned: number;
  /** The trials that are planned, by dataset as it was given. */
  readonly trials: Readonly<Record<string, readonly number[]>>;
  /** What `nudge sweep plan` was asked for, one entry each time, as `sweep.json` has it. */
  readonly asked?: readonly unknown[];
  readonly passedOver?: PassedOver;
}

/** Planned runs that are not done, and that going on with the sweep would not make. */
export interface PassedOver {
  /** Ids of those that failed. */
  readonly failed: ReadonlySet<string>;
  /** The first of them in the plan, in short. */
  readonly first: { readonly title: string; readonly error: string } | null;
  /** How many somebody took out. */
  readonly takenOut: number;
  /** How many were given up, since others of their cell were better. */
  readonly givenUp: number;
}

/** Reads what reports say of a sweep, by its folder or its files. `isDone` says whether the run of a name is done. */
export function readReportedSweep(
  place: string | StoredFiles,
  isDone = (name: string): boolean => filesOf(place).has(`runs/${name}/${DONE_FILE}`),
): ReportedSweep {
  const files = filesOf(place);
  const { trials = {}, runs: planned, requests: asked } = readSweepFile(files);
  const passedOver = passedOverIn(files, isDone);
  return { folder: files.path, planned, trials, asked, ...(passedOver && { passedOver }) };
}

function passedOverIn(files: StoredFiles, isDone: (name: string) => boolean): PassedOver | undefined {
  const verdicts = Array.from(idsWithAttempts(files), (id) => ({ id, ...readAttempts(files, id) }));
  const failed = new Set(verdicts.filter(({ verdict }) => verdict === "failed").map(({ id }) => id));
  const hopeless = new Set(verdicts.filter(({ verdict }) => verdict === "hopeless").map(({ id }) => id));
  const cancelled = cancelledIds(files);
  if (failed.size + hopeless.size + cancelled.size === 0) return undefined;
  const plan = planOf(files);
  const isOut = ({ id, name }: PlannedRun): boolean =>
    cancelled.has(id) && !failed.has(id) && !hopeless.has(id) && !isDone(name);
  const first = plan.find(({ id }) => failed.has(id));
  const shared = sharedSettings(plan.map(({ title }) => title));
  return {
    failed,
    first: first
      ? {
          title: shortTitle(first.title, shared),
          error: firstSentence(readAttempts(files, first.id).last?.error ?? "no reason was kept"),
        }
      : null,
    takenOut: plan.filter(isOut).length,
    givenUp: hopeless.size,
  };
}

/** The plan; empty where it is broken, which costs a report its words and none of its runs. */
function planOf(files: StoredFiles): PlannedRun[] {
  try {
    return [...planLines(files)];
  } catch (error) {
    if (error instanceof DataError) return [];
    throw error;
  }
}

/** What went wrong, without what to look at: that is what the status of the sweep is for. */
const firstSentence = (error: string): string => shortLine(error.split(/\.\s/)[0].replace(/\.$/, ""), 160);
