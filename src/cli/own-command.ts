/** The command that starts this program again, for processes and jobs that it starts. */

import { fileURLToPath } from "node:url";
import { UsageError } from "../errors.js";

/**
 * `node …/bin/nudge.cjs`, or the value of $NUDGE_COMMAND: a JSON list of words, for when another program must come
 * first (a container runtime, for instance).
 */
export function ownCommand(env: NodeJS.ProcessEnv = process.env): string[] {
  const given = env.NUDGE_COMMAND;
  if (!given) return [process.execPath, fileURLToPath(new URL("../../bin/nudge.cjs", import.meta.url))];
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
