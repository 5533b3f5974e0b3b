/** `nudge sweep cancel`: stops a sweep, or some of its runs, on all machines. */

import { Command } from "commander";
import { shellWord } from "../files/shell-words.js";
import { cancelAll, cancelRun } from "../sweep/cancel-marks.js";
import { launchers } from "../sweep/launchers/index.js";
import { runCommand } from "../sweep/run-command.js";
import { namedRuns } from "../sweep/run-list.js";
import { planLines, readSweepFile } from "../sweep/sweep-folder.js";

type Write = (text: string) => void;

export function sweepCancelCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("cancel")
    .description(
      "Stops a sweep on every machine: each active run writes a checkpoint after its next step and ends, and queued jobs are removed from the scheduler. nudge sweep run resumes the sweep. With run ids, cancels only these runs until nudge sweep retry restores them.",
    )
    .argument("<dir>", "the folder of a sweep")
    .argument("[runs...]", "cancel only these runs, given by the first characters of their ids")
    .addHelpText(
      "after",
      `
Examples:
  nudge sweep cancel sweeps/table1
  nudge sweep cancel sweeps/table1 c8c64362`,
    )
    .action((dir: string, words: string[]) => cancel(dir, words, write));
}

async function cancel(folder: string, words: readonly string[], write: Write): Promise<void> {
  const sweep = readSweepFile(folder); // throws if it is not a sweep
  const where = shellWord(folder);
  if (words.length > 0) {
    const chosen = namedRuns([...planLines(folder)], words);
    for (const { id } of chosen) cancelRun(folder, id);
    const count = chosen.length === 1 ? "1 run" : `${chosen.length} runs`;
    write(`${count} cancelled; restore with: nudge sweep retry ${where} ${words.map(shellWord).join(" ")}\n`);
    return;
  }
  cancelAll(folder);
  for (const { cancel: takeBack } of Object.values(launchers))
    for (const line of (await takeBack?.(folder)) ?? []) write(`${line}\n`);
  write(`cancelled: active runs write a checkpoint and stop; resume with: ${runCommand(folder, sweep)}\n`);
}
