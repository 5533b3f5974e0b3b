/** `nudge sweep retry`: puts runs back that failed, were given up or were taken out. */

import { rmSync } from "node:fs";
import { Command } from "commander";
import { UsageError } from "../errors.js";
import { shellWord } from "../files/shell-words.js";
import { forgetAttempts } from "../sweep/attempts.js";
import { cancelledIds, uncancelRun } from "../sweep/cancel-marks.js";
import { namedRuns } from "../sweep/run-list.js";
import { StatusReader } from "../sweep/status.js";
import { planLines, sweepPaths } from "../sweep/sweep-folder.js";
import { RunFolder } from "../training/run-folder.js";

type Write = (text: string) => void;

export function sweepRetryCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("retry")
    .description(
      "Puts runs of a sweep back that failed, were given up or were cancelled: the next nudge sweep run goes on with them from their last checkpoints.",
    )
    .argument("<dir>", "the folder of a sweep")
    .argument("[runs...]", "these runs, by the first digits of their ids (default: all that failed)")
    .option("--fresh", "begin them anew: what they have made so far is deleted")
    .addHelpText(
      "after",
      `
Examples:
  nudge sweep retry sweeps/table1
  nudge sweep retry sweeps/table1 c8c64362 --fresh`,
    )
    .action((dir: string, words: string[], flags: { fresh?: true }) => retry(dir, words, flags.fresh === true, write));
}

function retry(folder: string, words: readonly string[], fresh: boolean, write: Write): void {
  const reader = new StatusReader(folder);
  const all = [...planLines(folder)];
  const cancelled = cancelledIds(folder);
  const chosen =
    words.length > 0
      ? namedRuns(all, words).map((run) => reader.one(run))
      : [...reader.read().failed, ...all.filter(({ id }) => cancelled.has(id)).map((run) => reader.one(run))];
  for (const { id, name, state } of chosen) {
    if (state === "done") throw new UsageError(`run ${id}: it is done; nudge sweep clean deletes runs`);
    if (state === "running") throw new UsageError(`run ${id}: it is running; nudge sweep cancel stops it`);
    if (fresh) begin(sweepPaths(folder).run(name));
    forgetAttempts(folder, id);
    uncancelRun(folder, id);
  }
  const count = chosen.length === 1 ? "1 run" : `${chosen.length} runs`;
  write(
    chosen.length === 0
      ? "no run has failed, so there is nothing to put back\n"
      : `${count} put back; go on with: nudge sweep run ${shellWord(folder)}\n`,
  );
}

/** Deletes what a run has made, unless somebody has begun to work on it meanwhile. */
function begin(path: string): void {
  using folder = RunFolder.tryOwn(path);
  if (!folder) throw new UsageError(`${path}: somebody has begun to work on it`);
  rmSync(path, { recursive: true, force: true });
}
