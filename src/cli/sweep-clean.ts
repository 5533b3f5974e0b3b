/** `nudge sweep clean`: gives room back. Says what would go, and deletes it only with --yes. */

import { Command } from "commander";
import { type CleanWishes, findWaste, removeWaste, type Waste } from "../sweep/clean.js";

type Write = (text: string) => void;

interface CleanFlags extends Partial<CleanWishes> {
  yes?: true;
  json?: true;
}

export function sweepCleanCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return new Command("clean")
    .description(
      "Says what of a sweep can be deleted, and how much room that gives back; deletes it with --yes. By default the checkpoints of runs that are done: records, figures and models stay.",
    )
    .argument("<dir>", "the folder of a sweep")
    .option("--models", "the models of runs that are done, too")
    .option("--unfinished", "runs that were begun, are not done and not at work, too")
    .option("--unplanned", "runs that the plan does not have, too")
    .option("--done", "runs that are done, too: their records are gone then, and the sweep makes them again")
    .option("--yes", "delete it")
    .option("--json", "print what can go, or went, as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge sweep clean sweeps/table1                    what would go
  nudge sweep clean sweeps/table1 --yes
  nudge sweep clean sweeps/table1 --unfinished --yes`,
    )
    .action((dir: string, flags: CleanFlags) => clean(dir, flags, write));
}

function clean(folder: string, flags: CleanFlags, write: Write): void {
  const { models = false, unfinished = false, unplanned = false, done = false, yes, json } = flags;
  const waste = findWaste(folder, { models, unfinished, unplanned, done });
  if (json) {
    write(`${JSON.stringify({ found: waste, deleted: yes ? removeWaste(folder, waste) : [] }, null, 2)}\n`);
    return;
  }
  if (waste.length === 0) {
    write("nothing to delete\n");
    return;
  }
  for (const line of inWords(waste)) write(`${line}\n`);
  if (!yes) {
    write("nothing was deleted; with --yes it will be\n");
    return;
  }
  const gone = removeWaste(folder, waste);
  write(`deleted: ${size(gone)}\n`);
  if (gone.length < waste.length)
    write(`left alone, since somebody has begun to work on them: ${waste.length - gone.length} runs\n`);
}

function inWords(waste: readonly Waste[]): string[] {
  const kinds = [...new Set(waste.map(({ kind }) => kind))];
  return kinds.map((kind) => {
    const own = waste.filter((each) => each.kind === kind);
    return `${kind}: ${own.length.toLocaleString("en-US")}, ${size(own)} (${own[0].path}${own.length > 1 ? ", …" : ""})`;
  });
}

const size = (waste: readonly Waste[]): string => {
  const bytes = waste.reduce((sum, each) => sum + each.bytes, 0);
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
};
