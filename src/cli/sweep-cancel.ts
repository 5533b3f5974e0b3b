/** `nudge sweep cancel`: stops a sweep, or some of its runs, wherever they are made. */

import { Command } from "commander";
import { shellWord } from "../files/shell-words.js";
import { cancelAll, cancelRun } from "../sweep/cancel-marks.js";
import { launchers } from "../sweep/launchers/index.js";
import { namedRuns } from "../sweep/run-list.js";
import { planLines, readSweepFile } from "../sweep/sweep-folder.js";

type Write = (text: string) => void;

export function sweepCancelCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("cancel")
    .description(
      "Stops a sweep on every machine: what runs writes a checkpoint and ends within seconds of its next step, and jobs are taken back from their scheduler. nudge sweep run goes on. Or takes some runs out, until nudge sweep retry puts them back.",
    )
    .argument("<dir>", "the folder of a sweep")
    .argument("[runs...]", "only these runs, by the first digits of their ids")
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
  readSweepFile(folder); // says so where it is none
  const where = shellWord(folder);
  if (words.length > 0) {
    const chosen = namedRuns([...planLines(folder)], words);
    for (const { id } of chosen) cancelRun(folder, id);
    const count = chosen.length === 1 ? "1 run" : `${chosen.length} runs`;
    write(`${count} taken out; put back with: nudge sweep retry ${where} ${words.map(shellWord).join(" ")}\n`);
    return;
  }
  cancelAll(folder);
  for (const { cancel: takeBack } of Object.values(launchers))
    for (const line of (await takeBack?.(folder)) ?? []) write(`${line}\n`);
  write(`cancelled: what runs stops after a checkpoint; go on with: nudge sweep run ${where}\n`);
}
