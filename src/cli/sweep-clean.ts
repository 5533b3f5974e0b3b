/** `nudge sweep clean`: frees disk space. Lists what would be deleted, and deletes it only with --yes. */

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
      "Lists what can be deleted from a sweep and how much disk space that frees; deletes it with --yes. By default it selects the checkpoints of finished runs; records, figures and models are kept.",
    )
    .argument("<dir>", "the folder of a sweep")
    .option("--models", "also the models of finished runs")
    .option("--unfinished", "also runs that were started, are not finished and are not running")
    .option("--unplanned", "also runs that are not in the plan")
    .option("--done", "also finished runs: this deletes their records, and the sweep will run them again")
    .option("--yes", "delete it")
    .option("--json", "print what can be deleted, or was deleted, as JSON")
    .addHelpText(
      "after",
      `
Examples:
  nudge sweep clean sweeps/table1                    list only
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
    write("nothing was deleted; use --yes to delete\n");
    return;
  }
  const gone = removeWaste(folder, waste);
  write(`deleted: ${size(gone)}\n`);
  if (gone.length < waste.length)
    write(`not deleted, because they are running again: ${waste.length - gone.length} runs\n`);
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
