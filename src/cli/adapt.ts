/** `nudge adapt`: solves the classifier of a model again with a few labelled pictures of a new site. */

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { countOf } from "../data/show-name.js";
import { shellWord } from "../files/shell-words.js";
import { typedCommand } from "../files/typed-command.js";
import { type DataFlags, openModelData, tellProblems, withDataOptions } from "./model-data.js";
import { type ModelFlags, openModel, progressLine, type Write, withModelOptions } from "./model-options.js";
import { checkFile } from "./writable-place.js";

interface AdaptFlags extends ModelFlags, DataFlags {
  out?: string;
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge data pick runs/latest new-site/ --n 50 --out picked
  nudge adapt runs/latest --data picked/labels.csv
  nudge predict runs/latest/adapted.safetensors new-site/

The exact probe is solved again on training pictures of the run and on the new
ones, each of which counts 16 times, and the new pictures join the neighbours
that vote. The network stays as it is. Cross-validation within the new pictures
decides between the adapted classifier and the old one. The pictures of the run
must still be where they were.`;

/** The command. `write` receives its output. */
export function adaptCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  const command = new Command("adapt")
    .description("Adapts the classifier of a model to a new site with a few labelled pictures from it, in seconds.")
    .argument("<run>", "the folder of a run");
  return withModelOptions(withDataOptions(command))
    .option("--out <file>", "the model to write, a .safetensors file (default: adapted.safetensors in the run folder)")
    .option("--json", "print the result as JSON")
    .addHelpText("after", EXAMPLES)
    .action((run: string, pairs: string[], flags: AdaptFlags) => adapt(run, pairs, flags, write));
}

async function adapt(run: string, pairs: readonly string[], flags: AdaptFlags, write: Write): Promise<void> {
  const out = flags.out ?? join(run, "adapted.safetensors");
  checkFile(out);
  using model = await openModel(run, flags);
  const { adaptModel, checkAdaptable } = await import("../own-data/adapt-model.js");
  checkAdaptable(model);
  const { shown } = await openModelData(model, flags, pairs);
  const { embedDataset } = await import("../model/embed-dataset.js");
  using line = progressLine("computing features", shown.count);
  const fresh = await embedDataset(model, shown, { batchSize: flags.batchSize, onProgress: line.show });
  line.clear();
  const adapted = await adaptModel(run, model, fresh, {
    say: (text) => process.stderr.write(`${text}\n`),
    write: (replace) => {
      copyFileSync(model.path, out);
      replace(out);
    },
  });
  const { pictures, right, isAdapted } = adapted;
  if (flags.json) write(`${JSON.stringify({ ...adapted, model: isAdapted ? out : null })}\n`);
  else {
    const share = (count: number): string => `${((100 * count) / pictures).toFixed(1)} %`;
    write(
      `on ${countOf(pictures, "new picture")}: the old classifier is correct for ${share(right.old)}; the adapted one, in cross-validation, for ${share(right.adapted)}\n`,
    );
    write(
      isAdapted
        ? `model: ${out}\nuse it: ${typedCommand()} predict ${shellWord(out)} PICTURES\n`
        : "nothing was written: the old classifier is better on these pictures, so keep it, or label more pictures\n",
    );
  }
  tellProblems(fresh.problems, shown.count);
}
