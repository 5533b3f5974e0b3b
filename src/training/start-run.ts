/** How a run begins: its folder is made and owned, and gets its settings. Nothing else begins a run folder. */

import { rememberDataRoot } from "../data/data-roots.js";
import { SETTINGS_FILE } from "../records/run.js";
import type { Plan } from "../settings/resolve.js";
import { RunFolder, readTrainSettings } from "./run-folder.js";

export interface StartedRun {
  /** The plan to train by. */
  readonly plan: Plan;
  /** Owned by this process: the caller's to give back. */
  readonly folder: RunFolder;
  /** What was in the folder before. */
  readonly was: "new" | "begun" | "done";
}

/** Begins a run in a folder, or finds it begun or done there. A folder that is given is one that this process owns. */
export async function startRun(asked: Plan, at: string | RunFolder): Promise<StartedRun> {
  if (typeof at !== "string") return start(asked, at);
  const folder = await RunFolder.own(at);
  try {
    return start(asked, folder);
  } catch (error) {
    folder[Symbol.dispose](); // on a full disk, for instance
    throw error;
  }
}

function start(asked: Plan, folder: RunFolder): StartedRun {
  if (asked.dataset.kind === "pictures") rememberDataRoot(asked.dataset.root);
  if (folder.isDone) return { plan: asked, folder, was: "done" };
  if (!folder.isBegun) {
    folder.writeJson(SETTINGS_FILE, asked.settings);
    return { plan: asked, folder, was: "new" };
  }
  // To the same bytes: what the run's name does not say, but its numbers depend on, stays as it was begun.
  const { threads } = readTrainSettings(folder.path);
  return { plan: { ...asked, settings: { ...asked.settings, threads } }, folder, was: "begun" };
}
