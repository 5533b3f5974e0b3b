/** The words that start this program again, for processes and jobs that it starts. */

import { fileURLToPath } from "node:url";
import { UsageError } from "../errors.js";

/**
 * `node …/bin/nudge.mjs`, or what $NUDGE_COMMAND says: a JSON list of words, where another program has to be put before it (a
 * container's, for instance).
 */
export function ownCommand(env: NodeJS.ProcessEnv = process.env): string[] {
  const given = env.NUDGE_COMMAND;
  if (!given) return [process.execPath, fileURLToPath(new URL("../../bin/nudge.mjs", import.meta.url))];
  let words: unknown;
  try {
    words = JSON.parse(given);
  } catch {
    words = undefined;
  }
  if (!Array.isArray(words) || words.length === 0 || !words.every((word) => typeof word === "string"))
    throw new UsageError(`NUDGE_COMMAND: expected a JSON list of words, such as ["nudge"], got ${given}`);
  return words;
}
