/** `nudge data review`: shows pictures whose labels should be checked on a page, and writes the decisions to a manifest. */

import { basename, dirname, join, resolve } from "node:path";
import { Command } from "commander";
import type { PictureDataset } from "../data/dataset.js";
import { countOf, showName } from "../data/show-name.js";
import { UsageError } from "../errors.js";
import { shellWord } from "../files/shell-words.js";
import { typedCommand } from "../files/typed-command.js";
import type { ReviewedPicture } from "../own-data/label-review.js";
import { openFolderFeatures } from "./folder-features.js";
import { portNumber, wholeNumber } from "./parse-options.js";
import { sayNext } from "./server-options.js";
import { untilStopped } from "./stop-signals.js";
import { checkFile } from "./writable-place.js";

type Write = (text: string) => void;

interface ReviewFlags {
  out?: string;
  backbone?: string;
  weights?: string;
  device?: string;
  port?: number;
  limit: number;
  json?: true;
}

const EXAMPLES = `
Examples:
  nudge data review ./pictures
  nudge data review ./pictures --out pictures-reviewed.csv --json

Five models (exact probes on frozen features) are trained, each on four fifths
of the pictures, and each predicts the fifth that it was not trained on. A label
should be checked if another class is as probable for the picture as that class
usually is for its own pictures (confident learning). The model can be wrong
too, so the page shows these pictures and you decide. Your decisions are written
to the manifest immediately; the folder is not changed. Then:
  nudge train --data pictures-reviewed.csv`;

/** The command. `write` receives its output. */
export function reviewCommand(write: Write): Command {
  return new Command("review")
    .summary("find labels to check, and correct them on a page")
    .description(
      "Finds pictures whose labels should be checked, because models that were not trained on these pictures disagree with the labels, and serves a page on which you accept, change or remove each one. Your decisions are written to a manifest that nudge train reads.",
    )
    .argument("<dir>", "a folder of pictures, or a manifest")
    .option("--out <file>", "the manifest to write, a .csv file (default: <dir>-reviewed.csv)")
    .option("--backbone <id>", "the network that computes the features")
    .option("--weights <file>", "the weights of that network")
    .option("--device <device>", "cpu, cuda or cuda:1 (default: a GPU if available)")
    .option("--limit <n>", "show at most n pictures, the clearest disagreements first", wholeNumber("--limit", 1), 200)
    .option("--port <n>", "the port of the page (default: 4949, or the next free port)", portNumber("--port"))
    .option("--json", "print the pictures as JSON instead of serving a page")
    .addHelpText("after", EXAMPLES)
    .action((dir: string, flags: ReviewFlags) => review(dir, flags, write));
}

async function review(dir: string, flags: ReviewFlags, write: Write): Promise<void> {
  const place =
    flags.out ?? join(dirname(resolve(dir)), `${basename(resolve(dir)).replace(/\.\w+$/, "")}-reviewed.csv`);
  if (!place.endsWith(".csv")) throw new UsageError(`--out ${showName(place)}: expected a file name that ends in .csv`);
  if (resolve(place) === resolve(dir))
    throw new UsageError(`--out ${showName(place)}: this is the manifest to review; choose another file`);
  if (!flags.json) checkFile(place);
  const { dataset, found } = await findErrors(dir, flags);
  const pictures = found.slice(0, flags.limit);
  if (flags.json) return write(`${JSON.stringify(pictures, null, 2)}\n`);
  const total = dataset.domains.reduce((sum, { count }) => sum + count, 0);
  write(`${reviewWords(found.length, total)}\n`);
  for (const { path, label, suggested, probability } of pictures.slice(0, 10))
    write(
      `  ${showName(path)}: ${showName(label)}, predicted ${showName(suggested)} (${(100 * probability).toFixed(1)} %)\n`,
    );
  if (pictures.length === 0) return;
  const [{ startReview }, { ReviewedManifest }] = await Promise.all([
    import("../review/server.js"),
    import("../review/reviewed-manifest.js"),
  ]);
  const manifest = new ReviewedManifest(resolve(place), dataset);
  manifest.write();
  const command = `${typedCommand()} train --data ${shellWord(place)}`;
  await using server = await startReview({
    ...{ dataset, pictures, manifest, command, port: flags.port },
    ...{ access: {}, onOpened: sayNext },
  });
  write(`review them at ${server.address} (press Ctrl-C to stop)\nmanifest: ${place}\n`);
  await untilStopped();
  const { marks } = manifest;
  const removed = [...marks.values()].filter((mark) => mark === null).length;
  write(
    `${countOf(marks.size - removed, "label")} changed, ${countOf(removed, "picture")} removed; train with: ${command}\n`,
  );
}

/** How many labels there are to check. The models that disagree with them make mistakes too. */
export const reviewWords = (found: number, total: number): string =>
  `${countOf(found, "label")} of ${countOf(total, "picture")} to check: a model that was not trained on the picture predicts another class`;

/** The labels of a folder to check, found with the features of a pretrained network. */
async function findErrors(
  dir: string,
  flags: ReviewFlags,
): Promise<{ dataset: PictureDataset; found: ReviewedPicture[] }> {
  using opened = await openFolderFeatures(dir, flags, "data review");
  const { dataset, samples, plan, reporter } = opened;
  const { reviewLabels } = await import("../own-data/label-review.js");
  reporter.progress?.("predicting each fifth of the pictures with a model trained on the others");
  return { dataset, found: reviewLabels(samples, plan) };
}
