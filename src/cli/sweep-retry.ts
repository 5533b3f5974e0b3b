/** `nudge sweep retry`: restores runs that failed, were stopped early or were cancelled. */

import { rmSync } from "node:fs";
import { Command } from "commander";
import { UsageError } from "../errors.js";
import { StatusReader } from "../run-index/status.js";
import { forgetAttempts } from "../sweep/attempts.js";
import { cancelledIds, uncancelRun } from "../sweep/cancel-marks.js";
import { runCommand } from "../sweep/run-command.js";
import { namedRuns } from "../sweep/run-list.js";
import { checkSweepPlaces, planLines, readSweepFile, sweepPaths } from "../sweep/sweep-folder.js";
import { RunFolder } from "../training/run-folder.js";

type Write = (text: string) => void;

export function sweepRetryCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("retry")
    .description(
      "Restores runs of a sweep that failed, were stopped early or were cancelled: the next nudge sweep run resumes them from their last checkpoints.",
    )
    .argument("<dir>", "the folder of a sweep")
    .argument("[runs...]", "the runs, given by the first characters of their ids (default: all failed runs)")
    .option("--fresh", "start them from the beginning: their existing results are deleted")
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
  checkSweepPlaces(folder);
  const all = [...planLines(folder)];
  const cancelled = cancelledIds(folder);
  const chosen =
    words.length > 0
      ? namedRuns(all, words).map((run) => reader.one(run))
      : [...reader.read().failed, ...all.filter(({ id }) => cancelled.has(id)).map((run) => reader.one(run))];
  for (const { id, name, state } of chosen) {
    if (state === "done") throw new UsageError(`run ${id}: it is finished; nudge sweep clean deletes runs`);
    if (state === "running") throw new UsageError(`run ${id}: it is running; nudge sweep cancel stops it`);
    if (fresh) begin(sweepPaths(folder).run(name));
    forgetAttempts(folder, id);
    uncancelRun(folder, id);
  }
  const count = chosen.length === 1 ? "1 run" : `${chosen.length} runs`;
  write(
    chosen.length === 0
      ? "no run has failed, so there is nothing to restore\n"
      : `${count} restored; resume with: ${runCommand(folder, readSweepFile(folder))}\n`,
  );
}

/** Deletes the results of a run, unless another process has started to work on it in the meantime. */
function begin(path: string): void {
  using folder = RunFolder.tryOwn(path);
  if (!folder) throw new UsageError(`${path}: another process has started to work on it`);
  rmSync(path, { recursive: true, force: true });
}
