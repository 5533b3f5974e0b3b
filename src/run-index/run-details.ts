/** All facts about one run of a sweep, for finding out why it failed. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { readText } from "../files/open-file.js";
import { shellWord } from "../files/shell-words.js";
import { readAttempts } from "../sweep/attempts.js";
import { sweepPaths } from "../sweep/sweep-folder.js";
import { duration } from "../training/reporter.js";
import type { RunStatus } from "./status.js";

/** The number of lines of the log that are shown. */
const LOG_LINES = 15;

/** The details of a run as lines of text. */
export function runDetails(folder: string, { id, name, title, state, progress, silent, maker }: RunStatus): string {
  const path = sweepPaths(folder).run(name);
  const { errors, lost, last } = readAttempts(folder, id);
  const lines = [`${id}  ${title}`, `  ${state}${progress ? `, step ${progress.step}/${progress.steps}` : ""}`];
  if (maker)
    lines.push(
      `  process ${maker.pid} on ${maker.host}${progress ? `, ${duration(progress.left)} left` : ""}${silent === null ? "" : `, no step for ${duration(silent)}`}`,
    );
  lines.push(existsSync(path) ? `  folder: ${path}` : "  not begun");
  if (errors > 0) lines.push(`  attempts that ended with an error: ${errors}`);
  if (lost > 0) lines.push(`  consecutive attempts that ended without a message: ${lost}`);
  if (last) {
    lines.push("", `last problem (${last.host}, ${last.at}):`);
    lines.push(...(last.details ?? last.error).split("\n").map((line) => `  ${line}`));
  }
  const log = join(path, "log.txt");
  if (existsSync(log)) {
    const all = readText(log).trimEnd().split("\n");
    lines.push("", `the end of ${log}:`, ...all.slice(-LOG_LINES).map((line) => `  ${line}`));
  }
  if (state === "failed" || state === "hopeless" || state === "cancelled")
    lines.push("", `retry with: nudge sweep retry ${shellWord(folder)} ${id.slice(0, 8)}`);
  return lines.map((line) => `${line}\n`).join("");
}
