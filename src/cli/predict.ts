/** `nudge predict`: what a trained model says of pictures. */

import { stat } from "node:fs/promises";
import { join } from "node:path";
import { Command } from "commander";
import { median } from "../analysis/evaluation.js";
import { showName } from "../data/show-name.js";
import { UsageError } from "../errors.js";
import { formatFor } from "./format-by-ending.js";
import {
  type ModelFlags,
  openModel,
  progressLine,
  shortened,
  WholeFile,
  type Write,
  withModelOptions,
} from "./model-options.js";
import { oneOf, wholeNumber } from "./parse-options.js";
import { predictionFormats } from "./prediction-formats.js";
import { checkFile } from "./writable-place.js";

interface PredictFlags extends ModelFlags {
  top: number;
  format?: keyof typeof predictionFormats;
  out?: string;
  json?: true;
}

const names = Object.keys(predictionFormats) as (keyof typeof predictionFormats)[];

const EXAMPLES = `
Examples:
  nudge predict runs/9f2c…/model.safetensors photo.jpg
  nudge predict runs/9f2c… holiday/ --top 3
  nudge predict model.safetensors new-clinic/ --out predictions.csv

A run's folder stands for its model. Folders are walked, in the order of their
names. A picture that cannot be read gets a row that says so; the rest is done,
the reasons are repeated at the end, and the exit code is then 1.
distance is how far a picture's features lie from the domains the model was
trained on: about 1 for pictures like those.
farther is the share of held-back training pictures that lie nearer: towards 100
% the model has not seen such pictures.`;

/** The command; `write` takes what it prints. */
export function predictCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  return withModelOptions(
    new Command("predict")
      .description(
        "Says of pictures what they are, how sure the model is, and how far they lie from what it was trained on.",
      )
      .argument("<model>", "a model file, or the folder of a run")
      .argument("<pictures...>", "pictures, or folders of them")
      .option("--top <k>", "the k most probable classes of each", wholeNumber("--top", 1), 1)
      .option(
        "--format <format>",
        `${names.join(", ")} (default: what --out ends in, or table)`,
        oneOf("format", names),
      )
      .option("--json", "a JSON object a line, as --format jsonl")
      .option("--out <file>", "write to this file"),
  )
    .addHelpText("after", EXAMPLES)
    .action((model: string, pictures: string[], flags: PredictFlags) => predict(model, pictures, flags, write));
}

async function predict(path: string, given: readonly string[], flags: PredictFlags, write: Write): Promise<void> {
  const asked = flags.json ? "jsonl" : flags.format;
  const format = formatFor({ asked, file: flags.out, known: names, usual: "table", usualEnding: "txt" });
  if (flags.out !== undefined) checkFile(flags.out);
  const { pictures, notes } = await findPictures(given);
  using model = await openModel(path, flags);
  using file = flags.out === undefined ? null : new WholeFile(flags.out);
  const print = file?.write ?? write;
  const rows = predictionFormats[format]({ pictures, model, top: flags.top });
  const kept = flags.out === undefined ? "what is printed stands" : `${flags.out} was not written`;
  using progress = progressLine("predicting", pictures.length, kept);
  const problems: string[] = [];
  const farther: number[] = [];
  print(rows.head);
  for await (const { place, prediction, problem } of model.predictEach(pictures, flags)) {
    print(prediction ? rows.row(pictures[place], prediction) : rows.problem(pictures[place], problem.message));
    if (problem) problems.push(problem.message);
    if (prediction?.distance) farther.push(prediction.distance.fartherThan);
    if (prediction?.truncated)
      notes.push(`picture ${showName(pictures[place])}: it ends early, and was read as far as it goes`);
    progress.show(place + 1);
  }
  progress.clear();
  print(rows.foot);
  file?.done();
  if (model.dependsOnBatch)
    notes.push("this model looks at pictures together: what it says of one depends on the others of its batch");
  if (farther.length >= FEWEST_FOR_MIDDLE) notes.push(middleWords(farther));
  for (const note of shortened(notes)) process.stderr.write(`note: ${note}\n`);
  if (flags.out !== undefined) process.stderr.write(`wrote ${flags.out}\n`);
  if (problems.length > 0) {
    const many = problems.length === 1 ? "1 picture" : `${problems.length} pictures`;
    const lines = shortened(problems).map((each) => `  ${each}\n`);
    process.stderr.write(`nudge: ${many} of ${pictures.length} could not be read:\n${lines.join("")}`);
    process.exitCode = 1;
  }
}

/** Of fewer pictures the middle one tells nothing that their rows do not. */
const FEWEST_FOR_MIDDLE = 5;

/** Above this the pictures as a whole are another domain than those of training. */
const STRANGE = 0.75;

/** How far the pictures as a whole lie from training: as `eval` says it of a domain. */
function middleWords(farther: readonly number[]): string {
  const middle = median(farther)!;
  const advice = middle > STRANGE ? "; measure it on some labelled ones, with nudge eval, before you rely on it" : "";
  return `the middle one of these ${farther.length} pictures lies farther from the training domains than ${(100 * middle).toFixed(1)} % of their held-back pictures (about 50 for pictures like those)${advice}`;
}

/** The pictures that are meant: files as they are, and all in folders. */
async function findPictures(given: readonly string[]): Promise<{ pictures: string[]; notes: string[] }> {
  const { picturesUnder, readFolderTree } = await import("../data/folder-tree.js");
  const pictures: string[] = [];
  const notes: string[] = [];
  for (const path of given) {
    const there = await stat(path).catch(() => undefined);
    if (!there) throw new UsageError(`there is no picture or folder ${showName(path)}`);
    if (!there.isDirectory()) {
      pictures.push(path);
      continue;
    }
    const tree = await readFolderTree(path);
    pictures.push(...picturesUnder(tree.top).map((inside) => join(path, inside)));
    notes.push(...tree.notes.map((note) => `${showName(path)}: ${note}`));
  }
  if (pictures.length === 0) throw new UsageError(`no picture was found in ${given.map(showName).join(", ")}`);
  return { pictures, notes };
}
