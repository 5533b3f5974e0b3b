/**
 * Excludes runs on pictures that have changed. Runs from before and after pictures were added, removed or replaced must
 * not compete or share a table. The settings of a run have the fingerprint of its pictures; the newest run has the
 * current one.
 */

import { listNames } from "../data/show-name.js";
import type { EvaluatedRun } from "./evaluated-run.js";
import { datasetIn, isOwnDataset, withoutSlash } from "./own-pictures.js";
import type { StoredRun } from "./run.js";

/** The maximum number of folders that are named. */
const MOST_NAMED = 3;

/** Excludes runs on pictures that have changed since, and reports them. */
export function withoutChangedPictures(
  runs: readonly EvaluatedRun[],
  stored: readonly StoredRun[],
): { runs: EvaluatedRun[]; notes: string[] } {
  const byFolder = new Map<string, StoredRun[]>();
  for (const run of stored.filter(({ settings }) => isOwnDataset(settings.dataset))) {
    const key = JSON.stringify([datasetIn(run.settings), run.settings.domains]);
    const own = byFolder.get(key);
    if (own) own.push(run);
    else byFolder.set(key, [run]);
  }
  const left = new Set<string>();
  const notes: string[] = [];
  for (const own of byFolder.values()) {
    if (new Set(own.map(fingerprintOf)).size === 1) continue;
    const now = fingerprintOf(newestOf(own));
    const before = own.filter((run) => fingerprintOf(run) !== now).map(({ folder }) => folder);
    for (const folder of before) left.add(folder);
    notes.push(
      `${withoutSlash(datasetIn(own[0].settings))}: ${before.length === 1 ? "1 run was" : `${before.length} runs were`} skipped, because newer ones are on other pictures (some were added, taken away, replaced or given another label in between): ${listNames(before, MOST_NAMED)}. Train again, or report on them alone`,
    );
  }
  return { runs: runs.filter(({ source }) => !left.has(source)), notes };
}

const fingerprintOf = ({ settings }: StoredRun): unknown => (settings as { readonly pictures?: unknown }).pictures;

/** The run that was started last. Settings are written once. */
function newestOf(runs: readonly StoredRun[]): StoredRun {
  const begun = runs.map((run) => run.begun ?? 0);
  return runs[begun.indexOf(Math.max(...begun))];
}
