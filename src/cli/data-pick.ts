/** `nudge data pick`: chooses which pictures of a new site to label, and serves a page to label them by keyboard. */

import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { Command } from "commander";
import { shareOf } from "../analysis/assess.js";
import { countOf } from "../data/show-name.js";
import { UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { readText } from "../files/open-file.js";
import { shellWord } from "../files/shell-words.js";
import { typedCommand } from "../files/typed-command.js";
import type { PickReason } from "../own-data/pick-pictures.js";
import { type ModelFlags, openModel, progressLine, type Write, withModelOptions } from "./model-options.js";
import { portNumber, wholeNumber } from "./parse-options.js";
import { untilStopped } from "./stop-signals.js";
import { checkFolder } from "./writable-place.js";

interface PickFlags extends ModelFlags {
  n: number;
  out: string;
  seed: number;
  port?: number;
  json?: true;
}

/** A picked picture, as `picked.json` in the folder has it. */
interface Picked {
  /** The copy in the folder, and where it comes from. */
  readonly file: string;
  readonly from: string;
  readonly why: PickReason;
  readonly predicted: string;
  readonly probability: number;
}

const LIST = "picked.json";
const LABELS = "labels.csv";

const EXAMPLES = `
Examples:
  nudge data pick runs/latest new-site/ --n 50 --out picked
  nudge adapt runs/latest --data picked/labels.csv

Half of the pictures are drawn at random: when they are labelled, the accuracy
of the model on the new site is measured with an interval. The other half are
pictures that the model is uncertain about and that differ from each other;
their labels help most in adapting. The pictures are copied to the folder, with
a list (picked.json), and a page is served on which you label them by keyboard.
The same command serves the page again.`;

/** The command. `write` receives its output. */
export function pickCommand(write: Write): Command {
  return withModelOptions(
    new Command("pick")
      .summary("choose pictures of a new site to label, on a page")
      .description(
        "Chooses the pictures of a new site whose labels help most, copies them to a folder with a list, and serves a page on which you label them by keyboard.",
      )
      .argument("<model>", "a model file, or the folder of a run")
      .argument("<pictures...>", "pictures, folders, glob patterns, @lists"),
  )
    .option("--n <n>", "the number of pictures", wholeNumber("--n", 1), 50)
    .option("--out <dir>", "the folder for the pictures, the list and the labels", "picked")
    .option("--seed <n>", "the seed of the random half", wholeNumber("--seed", 0), 0)
    .option("--port <n>", "the port of the page (default: 4949, or the next free port)", portNumber("--port"))
    .option("--json", "print the list as JSON instead of serving a page")
    .addHelpText("after", EXAMPLES)
    .action((model: string, pictures: string[], flags: PickFlags) => pick(model, pictures, flags, write));
}

async function pick(path: string, given: readonly string[], flags: PickFlags, write: Write): Promise<void> {
  checkFolder(flags.out);
  using model = await openModel(path, flags);
  const file = join(flags.out, LIST);
  const picked: Picked[] = existsSync(file) ? JSON.parse(readText(file)) : await choose(model, given, flags);
  if (flags.json) return write(`${JSON.stringify(picked, null, 2)}\n`);
  const labels = join(flags.out, LABELS);
  const command = `${typedCommand()} adapt ${shellWord(path)} --data ${shellWord(labels)}`;
  const [{ startReview }, { LabelList }] = await Promise.all([
    import("../review/server.js"),
    import("../review/label-list.js"),
  ]);
  const manifest = new LabelList(resolve(labels), basename(resolve(flags.out)));
  const pictures = picked.map((each) => ({
    ...{ path: each.file, domain: "", label: each.predicted, suggested: each.predicted },
    ...{ probability: each.probability, given: each.probability },
  }));
  await using server = await startReview({
    dataset: { root: resolve(flags.out), classes: model.classes },
    ...{ pictures, manifest, command, task: "label", port: flags.port },
  });
  write(`${countOf(picked.length, "picture")} in ${flags.out}\nlabel them at ${server.url} (press Ctrl-C to stop)\n`);
  await untilStopped();
  write(`${measuredText(picked, manifest.marks)}adapt the model with: ${command}\n`);
}

/** Chooses and copies the pictures. */
async function choose(
  model: Awaited<ReturnType<typeof openModel>>,
  given: readonly string[],
  { n, out, seed, batchSize }: PickFlags,
): Promise<Picked[]> {
  const { findPictures } = await import("../data/named-pictures.js");
  const [{ SitePredictions }, { pickPictures }, { tensor }] = await Promise.all([
    import("../own-data/site-predictions.js"),
    import("../own-data/pick-pictures.js"),
    import("../engine/tensor.js"),
  ]);
  const { pictures } = await findPictures(given);
  if (pictures.some(({ input }) => typeof input !== "string"))
    throw new UsageError(
      "data pick: expected files or folders, because the pictures are copied; got a picture on standard input",
    );
  using progress = progressLine("predicting", pictures.length);
  const site = new SitePredictions(model);
  await site.add(pictures, { batchSize, onProgress: progress.show });
  progress.clear();
  if (site.pictures.length === 0) throw new UsageError("data pick: none of the pictures could be read");
  const width = site.pictures[0].prediction.features.length;
  const rows = new Float32Array(site.pictures.length * width);
  for (const [i, { prediction }] of site.pictures.entries()) rows.set(prediction.features, i * width);
  using features = tensor(rows, { shape: [site.pictures.length, width] });
  const picks = pickPictures(
    features,
    site.pictures.map(({ prediction }) => prediction.logits),
    n,
    { seed },
  );
  makeFolder(out);
  const digits = String(picks.length).length;
  const picked = picks.map(({ place, why }, i): Picked => {
    const { name, prediction } = site.pictures[place];
    const own = `${String(i + 1).padStart(digits, "0")}${extname(name).toLowerCase()}`;
    copyFileSync(name, join(out, own));
    return { file: own, from: resolve(name), why, predicted: prediction.label, probability: prediction.probability };
  });
  writeFileSync(join(out, LIST), `${JSON.stringify(picked, null, 2)}\n`);
  return picked;
}

/** The accuracy that the labels of the random half measure. */
export function measuredText(picked: readonly Picked[], marks: ReadonlyMap<string, string | null>): string {
  const random = picked.filter(({ file, why }) => why === "random" && marks.has(file));
  const labelled = picked.filter(({ file }) => marks.has(file)).length;
  const words = `${countOf(labelled, "picture")} of ${picked.length} labelled\n`;
  if (random.length === 0) return words;
  const right = random.filter(({ file, predicted }) => marks.get(file) === predicted).length;
  const { accuracy, interval } = shareOf(right, random.length);
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  return `${words}measured accuracy on the new site: ${percent(accuracy)} (95 % interval ${percent(interval[0])} to ${percent(interval[1])}, from the ${countOf(random.length, "picture")} drawn at random)\n`;
}
