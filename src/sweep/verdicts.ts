/** The decisions of a sweep about its runs by id, read from the recorded attempts and from the marks of cancelled runs. */

import { filesOf, type StoredFiles } from "../files/stored-files.js";
import { idsWithAttempts, readAttempts } from "./attempts.js";
import { cancelledIds } from "./cancel-marks.js";
import type { Verdict } from "./run-state.js";

/** All runs with a decision or an error. A run that failed and was also cancelled counts as failed. */
export function readVerdicts(place: string | StoredFiles): Map<string, Verdict> {
  const files = filesOf(place);
  const verdicts = new Map<string, Verdict>();
  for (const id of cancelledIds(files)) verdicts.set(id, { state: "cancelled", error: null });
  for (const id of idsWithAttempts(files)) {
    const { verdict, last } = readAttempts(files, id);
    verdicts.set(id, { state: verdict ?? verdicts.get(id)?.state ?? null, error: last?.error ?? null });
  }
  return verdicts;
}
