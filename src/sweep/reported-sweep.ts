/**
 * A sweep as reports see it: what was asked for, how much is planned, and which runs `nudge sweep run` passes over because
 * they failed, were taken out or were given up. Titles are read only where something failed: a plan may be long.
 */

import { DataError } from "../errors.js";
import { filesOf, type StoredFiles } from "../files/stored-files.js";
import type { Verdict } from "./run-state.js";
import { sharedSettings, shortLine, shortTitle } from "./short-titles.js";
import { type PlannedRun, planLines, readSweepFile } from "./sweep-folder.js";
import { readVerdicts } from "./verdicts.js";

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
  /** What was decided about runs, by their ids. */
  readonly verdicts: ReadonlyMap<string, Verdict>;
  /** The first run in the plan that failed, in short. */
  readonly firstFailure: { readonly title: string; readonly error: string } | null;
}

/** Reads what reports say of a sweep, by its folder or its files. */
export function readReportedSweep(place: string | StoredFiles): ReportedSweep {
  const files = filesOf(place);
  const { trials = {}, runs: planned, requests: asked } = readSweepFile(files);
  const verdicts = readVerdicts(files);
  return { folder: files.path, planned, trials, asked, verdicts, firstFailure: firstFailure(files, verdicts) };
}

function firstFailure(files: StoredFiles, verdicts: ReadonlyMap<string, Verdict>): ReportedSweep["firstFailure"] {
  if (![...verdicts.values()].some(({ state }) => state === "failed")) return null;
  const plan = planOf(files);
  const first = plan.find(({ id }) => verdicts.get(id)?.state === "failed");
  if (!first) return null;
  return {
    title: shortTitle(first.title, sharedSettings(plan.map(({ title }) => title))),
    error: firstSentence(verdicts.get(first.id)?.error ?? "no reason was kept"),
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
