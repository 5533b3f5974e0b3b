/** `nudge eval`: evaluates a model on labelled pictures. */

import { writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { Command } from "commander";
import { mostWrong } from "../analysis/assess.js";
import { evaluation, type PlacedPicture } from "../analysis/evaluation.js";
import type { Dataset, Domain } from "../data/dataset.js";
import type { Thumbnail } from "../data/inspect-thumbnails.js";
import { isOwnDataset } from "../data/own-dataset.js";
import { DataError } from "../errors.js";
import type { ModelDataset } from "../model/dataset-batches.js";
import type { Model } from "../model/index.js";
import { membersTrainedOn, trainedOnWords } from "../model/trained-on.js";
import { againstText, againstWords, judgeAgainst } from "./eval-against.js";
import { knownTraining } from "./known-training.js";
import { type DataFlags, openModelData, tellProblems, withDataOptions } from "./model-data.js";
import {
  type CombinationFlags,
  type ModelFlags,
  openCombined,
  progressLine,
  type Write,
  withCombinationOptions,
  withModelOptions,
} from "./model-options.js";
import { wholeNumber } from "./parse-options.js";
import { checkFile, checkFolder } from "./writable-place.js";

interface EvalFlags extends ModelFlags, CombinationFlags, DataFlags {
  bins: number;
  json?: true;
  html?: string;
  figures?: string;
  against?: string;
}

const EXAMPLES = `
Examples:
  nudge eval runs/9f2c… --data ./pictures
  nudge eval runs/9f2c… --data pacs --root data --domain sketch
  nudge eval model.safetensors --data new-clinic/ --html eval.html --limit 500
  nudge eval runs/9f2c… --data new-clinic/ --against runs/430a…
  nudge eval runs/9f2c… --with runs/430a… --data new-clinic/      an ensemble of two
  nudge eval runs/9f2c… --t3a 20 --data new-clinic/               adapted during the evaluation

Classes are matched to those of the model by name. Pictures of classes that the
model does not know are skipped and reported. Pictures that cannot be read are
skipped and listed at the end, and the exit code is then 1. If the model was
trained on some of the pictures (copies and near-duplicates are recognized in
any folder), the accuracy on the others is printed too.`;

/** The number of pictures on the page that the model was most wrong about. */
const SHOWN_MISTAKES = 24;

/** The command. `write` receives its output. */
export function evalCommand(write: Write = (text) => void process.stdout.write(text)): Command {
  const command = new Command("eval")
    .description(
      "Evaluates a model on labelled pictures: accuracy by domain and class, the confusion matrix, calibration, and accuracy against coverage when the model abstains.",
    )
    .argument("<model>", "a model file, or the folder of a run");
  return withCombinationOptions(withModelOptions(withDataOptions(command)))
    .option("--bins <n>", "the number of bins of the calibration error", wholeNumber("--bins", 1), 15)
    .option("--html <file>", "write a page with tables, charts and the mistakes with the highest confidence")
    .option("--figures <dir>", "write the charts to this folder, as SVG and PNG")
    .option("--against <model>", "compare with another model on the same pictures")
    .option("--json", "print everything as JSON")
    .addHelpText("after", EXAMPLES)
    .action((model: string, pairs: string[], flags: EvalFlags) => evaluate(model, pairs, flags, write));
}

async function evaluate(path: string, pairs: readonly string[], flags: EvalFlags, write: Write): Promise<void> {
  if (flags.html !== undefined) checkFile(flags.html, "--html");
  if (flags.figures !== undefined) checkFolder(flags.figures, "--figures");
  if (flags.against !== undefined) (await import("../model/load-model.js")).modelFile(flags.against); // a wrong name is reported before the evaluation starts
  using model = await openCombined(path, flags);
  const { readModelAbout } = await import("../model/load-model.js");
  const members = [path, ...(flags.with ?? [])].map((each) => ({
    about: readModelAbout(each),
    ...knownTraining(each),
  })); // before the evaluation, so that a damaged file is reported first
  const { dataset, shown } = await openModelData(model, flags, pairs);
  const { judgeDataset } = await import("../model/judge-dataset.js");
  using line = progressLine(
    "evaluating",
    shown.count,
    "there is no result before the last picture (use --limit for fewer)",
  );
  const { pictures, problems } = await judgeDataset(model, shown, {
    batchSize: flags.batchSize,
    onProgress: line.show,
  });
  line.clear();
  const learnt = await membersTrainedOn(members, dataset, pictures, members[0].comparing);
  const evaluated = evaluation(pictures, model.classes, { bins: flags.bins });
  const wrong = mostWrong(pictures, SHOWN_MISTAKES);
  const against =
    flags.against === undefined
      ? null
      : await judgeAgainst(flags.against, { pictures, classes: model.classes }, { flags, pairs });
  const warning = learnt && trainedOnWords(learnt);
  const notes = [
    ...shown.notes,
    ...(against?.trainedOn ? [`the other model: ${trainedOnWords(against.trainedOn)}`] : []),
  ];
  if (flags.json) {
    const unreadable = [...problems].map(([picture, problem]) => ({ picture, problem }));
    write(
      `${JSON.stringify({ model: path, dataset: dataset.id, ...evaluated, trainedOn: learnt, ...(against && { against }), mostWrong: wrong, notes: [...(warning ? [warning] : []), ...notes], unreadable }, null, 2)}\n`,
    );
  } else {
    const { evaluationText } = await import("../report/evaluation-text.js");
    write(evaluationText(evaluated, pictures, warning));
    if (against) write(`\n${await againstText(against)}`);
  }
  if (!flags.json) for (const note of notes) process.stderr.write(`note: ${note}\n`);
  if (flags.html !== undefined) {
    const [{ evaluationHtml }, { thumbnail }] = await Promise.all([
      import("../report/evaluation-html.js"),
      import("../data/inspect-thumbnails.js"),
    ]);
    const mistakes = await Promise.all(
      wrong.map(async (each) => {
        const place = placeOf(dataset, each);
        const small = place && (await thumbnail(dataset, place.domain, place.index));
        return { ...each, thumbnail: small, heat: await heatOf(model, dataset, each, small) };
      }),
    );
    const page = evaluationHtml({
      about: model.about,
      dataset: nameOf(dataset, shown),
      evaluated,
      trainedOn: learnt,
      wrong: mistakes,
      notes: [...(against ? [againstWords(against)] : []), ...notes, ...problems.values()],
    });
    writeWhole(flags.html, page);
    process.stderr.write(`wrote ${flags.html}\n`);
  }
  if (flags.figures !== undefined) await writeFigures(flags.figures, evaluated);
  tellProblems(problems, shown.count);
}

/** The folder or benchmark, and the domains that were evaluated. */
function nameOf({ id, title, root, hasDomains }: Dataset, { chosen }: ModelDataset): string {
  const name = isOwnDataset(id) && root !== null ? basename(resolve(root)) : title;
  return hasDomains ? `${name} (${chosen.map(({ domain }) => domain.name).join(", ")})` : name;
}

function placeOf(
  dataset: Dataset,
  { name, domain: domainName }: PlacedPicture,
): { domain: number; index: number } | undefined {
  const domain = dataset.domains.findIndex((each) => each.name === domainName);
  const { files } = dataset.domains[domain] as Domain;
  const index = files ? files.indexOf(name) : Number(name.slice(domainName.length + 1));
  return index >= 0 ? { domain, index } : undefined;
}

/** The heat map of a mistake, for the class that the model predicted; undefined if there is none. */
async function heatOf(
  model: Model,
  dataset: Dataset,
  { name, predicted }: PlacedPicture,
  { size }: Thumbnail = { name: "" },
): Promise<string | undefined> {
  if (dataset.kind !== "pictures" || !size) return undefined;
  const [{ heatMapOf }, { heatUri }, { decodeFile }] = await Promise.all([
    import("../model/heat-map.js"),
    import("../drawing/heat-picture.js"),
    import("../data/decode.js"),
  ]);
  const picture = await decodeFile(resolve(dataset.root, name), { upright: dataset.upright });
  const heat = heatMapOf(model, picture, predicted);
  return heat ? heatUri(heat, size) : undefined;
}

async function writeFigures(folder: string, evaluated: ReturnType<typeof evaluation>): Promise<void> {
  const [{ abstentionChart, confusionChart, reliabilityChart }, { writeFigure }] = await Promise.all([
    import("../report/assessment-charts.js"),
    import("../drawing/write-figure.js"),
  ]);
  const charts = {
    confusion: confusionChart(evaluated.confusion, evaluated.classes),
    calibration: reliabilityChart(evaluated.calibration),
    abstention: abstentionChart(evaluated.abstention),
  };
  for (const [name, svg] of Object.entries(charts))
    if (svg !== null)
      for (const file of await writeFigure(svg, join(folder, name))) process.stderr.write(`wrote ${file}\n`);
}

function writeWhole(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (cause) {
    throw new DataError(`writing ${path}: ${(cause as Error).message}`, { cause });
  }
}
