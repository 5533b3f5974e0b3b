/** Starts a run: creates and locks its folder, and writes its settings. No other code starts a run folder. */

import { rememberCache, rememberDataRoot } from "../data/named-folders.js";
import { SETTINGS_FILE } from "../records/run.js";
import { checkFacts } from "../settings/edition.js";
import type { Plan } from "../settings/resolve.js";
import { factsAt, RunFolder, readTrainSettings } from "./run-folder.js";

export interface StartedRun {
  /** The plan for training. */
  readonly plan: Plan;
  /** The folder, locked by this process. The caller must release it. */
  readonly folder: RunFolder;
  /** The previous state of the folder. */
  readonly was: "new" | "begun" | "done";
}

/**
 * Starts a run in a folder, or finds that it has started or is done. A given RunFolder must be owned by this process.
 */
export async function startRun(asked: Plan, at: string | RunFolder): Promise<StartedRun> {
  if (typeof at !== "string") return start(asked, at);
  const folder = await RunFolder.own(at);
  try {
    return start(asked, folder);
  } catch (error) {
    folder[Symbol.dispose](); // for example, on a full disk
    throw error;
  }
}

function start(asked: Plan, folder: RunFolder): StartedRun {
  if (asked.dataset.kind === "pictures") rememberDataRoot(asked.dataset.root);
  rememberCache(asked.settings.cache);
  // Without the check, a run on other pictures or with edited code would pass for this one.
  if (folder.isBegun) checkFacts(folder.path, factsAt(folder.path), asked.settings.facts);
  if (folder.isDone) return { plan: asked, folder, was: "done" };
  if (!folder.isBegun) {
    folder.writeJson(SETTINGS_FILE, asked.settings);
    return { plan: asked, folder, was: "new" };
  }
  // To give the same bytes, settings that are not part of the run's name but affect its numbers keep their original
  // values.
  const { threads } = readTrainSettings(folder.path);
  return { plan: { ...asked, settings: { ...asked.settings, threads } }, folder, was: "begun" };
}
