/** `nudge predict`: predicts the classes of pictures. */

import { Command } from "commander";
import { median } from "../analysis/evaluation.js";
import type { NamedPicture } from "../data/named-pictures.js";
import { countOf, showName } from "../data/show-name.js";
import { UsageError } from "../errors.js";
import type { Model } from "../model/index.js";
import { percentileText } from "../model/percentile-text.js";
import { unknownOf, unknownRule } from "../model/unknown.js";
import type { PredictionPage, ShownPrediction } from "../report/prediction-html.js";
import type { ExplainedPictures } from "./explained-pictures.js";
import { formatFor } from "./format-by-ending.js";
import {
  type CombinationFlags,
  type ModelFlags,
  openCombined,
  progressLine,
  shortened,
  unknownOption,
  WholeFile,
  type Write,
  withCombinationOptions,
  withModelOptions,
} from "./model-options.js";
import { oneOf, wholeNumber } from "./parse-options.js";
import { type MarkedPrediction, predictionFormats } from "./prediction-formats.js";
import { SortedCopies, UNKNOWN_FOLDER } from "./sorted-copies.js";
import { checkFile, checkFolder } from "./writable-place.js";

interface PredictFlags extends ModelFlags, CombinationFlags {
  top: number;
  format?: keyof typeof predictionFormats;
  out?: string;
  html?: string;
  copyTo?: string;
  explain?: string;
  unknown: number;
  json?: true;
}

const names = Object.keys(predictionFormats) as (keyof typeof predictionFormats)[];

const EXAMPLES = `
Examples:
  nudge predict runs/latest photo.jpg
  nudge predict runs/latest holiday/ --top 3
  nudge predict runs/latest new-clinic/ --out predictions.csv --html predictions.html
  nudge predict runs/latest odd/ --explain why --html why.html
  nudge predict runs/latest 'inbox/**/*.jpg' --copy-to sorted
  find inbox -mtime -1 -print0 | nudge predict runs/latest - --json

A run folder stands for its model. Pictures can be files, folders (searched with
their subfolders), glob patterns, lists of paths (@list.txt, one path per line),
or - for standard input, which is such a list or a single picture. A picture
that cannot be read gets a row that says so, and the reasons are printed at the
end. The exit code is then 1.

The distance percentile measures how unusual a picture is for the model: it is
the percentage of validation pictures of the training domains that are nearer to
the training features. It is about 50 for pictures like the training pictures,
and near 100 for pictures unlike all of them. A picture is marked as unknown if
its distance percentile is too high or its probability too low. The limits are
set so that each of them marks a small share (--unknown) of the correctly
classified pictures of held-out domains, or of validation if no domain was held
out.`;

const withOptions = (command: Command): Command => withCombinationOptions(withModelOptions(command));

/** The command. `write` receives its output. */
export function predictCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return withOptions(
    new Command("predict")
      .description(
        "Predicts the class of pictures with its probability, and marks pictures for which the prediction should not be trusted.",
      )
      .argument("<model>", "a model file, or the folder of a run")
      .argument("<pictures...>", "pictures, folders, glob patterns, @lists, or - for standard input")
      .option("--top <k>", "print the k most probable classes", wholeNumber("--top", 1), 1)
      .addOption(unknownOption())
      .option(
        "--copy-to <dir>",
        `copy each picture into a folder named after its predicted class, or into ${UNKNOWN_FOLDER}`,
      )
      .option("--html <file>", "write a page with the pictures")
      .option(
        "--explain <dir>",
        "write each picture with a heat map (Grad-CAM) of the regions that support the predicted class, also on the page of --html",
      )
      .option(
        "--format <format>",
        `${names.join(", ")} (default: by the ending of --out, or table)`,
        oneOf("format", names),
      )
      .option("--json", "print one JSON object per line, same as --format jsonl")
      .option("--out <file>", "write to this file"),
  )
    .addHelpText("after", EXAMPLES)
    .action((model: string, pictures: string[], flags: PredictFlags) => predict(model, pictures, flags, write));
}

async function predict(path: string, given: readonly string[], flags: PredictFlags, write: Write): Promise<void> {
  const asked = flags.json ? "jsonl" : flags.format;
  const format = formatFor({ asked, file: flags.out, known: names, usual: "table", usualEnding: "txt" });
  if (flags.out !== undefined) checkFile(flags.out);
  if (flags.html !== undefined) checkFile(flags.html, "--html");
  if (flags.copyTo !== undefined) checkFolder(flags.copyTo, "--copy-to");
  if (flags.explain !== undefined) checkFolder(flags.explain, "--explain");
  const { findPictures } = await import("../data/named-pictures.js");
  const { pictures: found, notes: skipped } = await findPictures(given);
  const pictures = found.map(({ name }) => name);
  const notes = [...skipped];
  if (flags.explain !== undefined && (flags.with || flags.t3a !== undefined))
    throw new UsageError("--explain works with a single model and cannot be combined with --with or --t3a");
  using model = await openCombined(path, flags);
  const rule = unknownRule(model.about, flags.unknown);
  const copies = flags.copyTo === undefined ? null : new SortedCopies(flags.copyTo, model.classes);
  const explained = flags.explain === undefined ? null : await explainedPictures(model, flags.explain);
  using file = flags.out === undefined ? null : new WholeFile(flags.out);
  const print = file?.write ?? write;
  const rows = predictionFormats[format]({ pictures, model, top: flags.top });
  const kept = flags.out === undefined ? "the printed rows are valid" : `${flags.out} was not written`;
  using progress = progressLine("predicting", pictures.length, kept);
  const problems: string[] = [];
  const percentiles: number[] = [];
  const shown: ShownPrediction[] = [];
  let unknown = 0;
  print(rows.head);
  const inputs = found.map(({ input }) => input);
  for await (const { place, prediction, problem } of model.predictEach(inputs, flags)) {
    if (prediction) {
      const marked = { ...prediction, unknown: unknownOf(prediction, rule) };
      print(rows.row(pictures[place], marked));
      if (marked.unknown) unknown++;
      if (marked.distance) percentiles.push(marked.distance.percentile);
      if (marked.truncated)
        notes.push(`picture ${showName(pictures[place])}: the file is truncated; the readable part was used`);
      if (marked.damage !== undefined)
        notes.push(
          `picture ${showName(pictures[place])}: the file is damaged; parts of the picture may be wrong (${marked.damage})`,
        );
      await copies?.add(inputs[place], pictures[place], marked.unknown ? null : marked.label);
      const heat = explained ? await explained.add(found[place], marked.label) : undefined;
      if (flags.html !== undefined && shown.length < MOST_SHOWN)
        shown.push({ ...(await shownOf(found[place], marked)), heat });
    } else {
      print(rows.problem(pictures[place], problem.message));
      problems.push(problem.message);
    }
    progress.show(place + 1);
  }
  progress.clear();
  print(rows.foot);
  file?.done();
  if (model.dependsOnBatch)
    notes.push(
      "this model uses batch statistics: its prediction for a picture depends on the other pictures in the batch",
    );
  if (percentiles.length >= FEWEST_FOR_MEDIAN) notes.push(medianWords(percentiles));
  if (unknown > 0) notes.push(`${countOf(unknown, "picture is", "pictures are")} marked as unknown`);
  if (rule.probability === null && rule.distance === null && flags.unknown > 0)
    notes.push(
      "no picture can be marked as unknown, because the model file contains no distance score and no calibration; train the model again to add them",
    );
  for (const note of shortened(notes)) process.stderr.write(`note: ${note}\n`);
  if (flags.out !== undefined) process.stderr.write(`wrote ${flags.out}\n`);
  if (copies) process.stderr.write(copiedWords(copies, flags.copyTo!));
  if (explained)
    process.stderr.write(`wrote ${countOf(explained.count, "picture")} with heat maps to ${flags.explain}\n`);
  if (flags.html !== undefined) await writeGallery(flags.html, { model, shown, total: found.length, problems, notes });
  if (problems.length > 0) {
    const lines = shortened(problems).map((each) => `  ${each}\n`);
    process.stderr.write(
      `nudge: ${countOf(problems.length, "picture")} of ${pictures.length} could not be read:\n${lines.join("")}`,
    );
    process.exitCode = 1;
  }
}

const copiedWords = ({ count, present }: SortedCopies, folder: string): string =>
  `copied ${countOf(count, "picture")} to ${folder}${present > 0 ? `; ${countOf(present, "picture was", "pictures were")} already there` : ""}\n`;

/** Where pictures with heat maps are written. Throws for a model that has none. */
async function explainedPictures(model: Model, folder: string): Promise<ExplainedPictures> {
  const { ExplainedPictures } = await import("./explained-pictures.js");
  return new ExplainedPictures(model, folder);
}

/** The largest number of pictures on a page, so that a browser opens it quickly. */
const MOST_SHOWN = 2_000;

async function shownOf({ name, input }: NamedPicture, prediction: MarkedPrediction): Promise<ShownPrediction> {
  const { thumbnailOf } = await import("../data/inspect-thumbnails.js");
  const { label, probability, unknown, distance } = prediction;
  const picture = await thumbnailOf(input);
  return { name, label, probability, unknown, percentile: distance?.percentile ?? null, picture };
}

async function writeGallery(
  path: string,
  {
    model,
    shown,
    ...rest
  }: { model: Model; shown: readonly ShownPrediction[] } & Pick<PredictionPage, "total" | "problems" | "notes">,
): Promise<void> {
  const [{ predictionHtml }, { trainedWords }] = await Promise.all([
    import("../report/prediction-html.js"),
    import("../report/model-sections.js"),
  ]);
  const subtitle = `${trainedWords(model.about)}.`;
  using file = new WholeFile(path);
  file.write(predictionHtml({ subtitle, classes: model.classes, predictions: shown, ...rest }));
  file.done();
  process.stderr.write(`wrote ${path}\n`);
}

/** With fewer pictures, the median adds nothing to the rows. */
const FEWEST_FOR_MEDIAN = 5;

/** Above this median, the pictures as a whole come from a different domain. */
const DIFFERENT = 75;

/** How far the pictures as a whole are from training, in the same words as `eval` uses for a domain. */
function medianWords(percentiles: readonly number[]): string {
  const middle = median(percentiles)!;
  const advice =
    middle > DIFFERENT ? "; evaluate the model on some labelled pictures with nudge eval before you rely on it" : "";
  return `the median distance percentile of these ${percentiles.length} pictures is ${percentileText(middle)} (about 50 for pictures like the training pictures)${advice}`;
}
