/** The report of a run, `report.html` in its folder: from its assessment, records and pictures. Never loads the engine. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { ASSESSMENT_FILE, type Assessment, readAssessment, type WrongPicture } from "../analysis/assessment.js";
import type { PictureDataset } from "../data/dataset.js";
import { thumbnail } from "../data/inspect-thumbnails.js";
import { countOf, listNames } from "../data/show-name.js";
import { heatUri } from "../drawing/heat-picture.js";
import { readText } from "../files/open-file.js";
import { replaceFile } from "../files/replace-file.js";
import { shellWord } from "../files/shell-words.js";
import { typedCommand } from "../files/typed-command.js";
import { readRecipe } from "../own-data/read-recipe.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { methodOf } from "../records/run.js";
import { readRecords } from "../records/store.js";
import { datasetTitle, runMethodTitle } from "../settings/names.js";
import type { TrainSettings } from "../settings/settings.js";
import { runFigures } from "../training/figures.js";
import { runFacts } from "./run-facts.js";
import { heldOutOf, runPage } from "./run-page.js";

export const REPORT_FILE = "report.html";

export interface ReportedRun {
  /** The run's folder. */
  readonly folder: string;
  readonly settings: TrainSettings;
  readonly dataset: PictureDataset;
}

/** Writes the report of an assessed run, with the results of runs like it on their held-out domains. */
export async function writeRunReport(run: ReportedRun, estimate: Assessment | null = null): Promise<string> {
  const { folder, settings, dataset } = run;
  const assessment = readAssessment(join(folder, ASSESSMENT_FILE));
  const { model, step } = assessment;
  const title = `${titleOf(settings)}: ${runMethodTitle(methodOf(settings, model), settings)}`;
  const html = runPage({
    title,
    subtitle: `${dataset.classes.length} classes, ${dataset.domains.length === 1 ? "one domain" : `${dataset.domains.length} domains`}, ${dataset.domains.reduce((sum, { count }) => sum + count, 0).toLocaleString("en-US")} pictures`,
    assessment,
    estimate,
    recipe: readRecipe(folder),
    ...(await picturesOf(dataset, heldOutOf({ assessment, estimate }).from.mostWrong.concat(assessment.mostWrong))),
    figures: runFigures(readRecords(join(folder, "records.jsonl")).records, settings).map(({ svg }) => svg),
    facts: [...runFacts(settings, { model, step }), ...timeFacts(folder)],
    commands: commandsFor(folder, settings),
    notes: [...dataset.notes, ...unreadableNotes(assessment)],
  });
  const path = join(folder, REPORT_FILE);
  replaceFile(path, (write) => write(Buffer.from(html, "utf8")));
  return path;
}

function unreadableNotes({ unreadable = [] }: Assessment): string[] {
  if (unreadable.length === 0) return [];
  return [`skipped: ${countOf(unreadable.length, "picture")} that cannot be read (${listNames(unreadable)})`];
}

/** A benchmark has its title, a folder its own name. */
function titleOf({ dataset, data }: TrainSettings): string {
  if (!isOwnDataset(dataset)) return datasetTitle(dataset);
  return data.split(/[\\/]/).findLast((part) => part !== "" && part !== ".") ?? data;
}

/** Thumbnails of the mistakes, and their heat maps, by path. */
async function picturesOf(
  dataset: PictureDataset,
  wrong: readonly WrongPicture[],
): Promise<{ thumbnails: Map<string, string>; heatMaps: Map<string, string> }> {
  const [thumbnails, heatMaps] = [new Map<string, string>(), new Map<string, string>()];
  for (const { domain, path, heat } of wrong) {
    const at = dataset.domains.findIndex(({ name }) => name === domain);
    const place = dataset.domains[at]?.files.indexOf(path) ?? -1;
    if (place < 0 || thumbnails.has(path)) continue;
    const { uri, size } = await thumbnail(dataset, at, place);
    if (uri) thumbnails.set(path, uri);
    if (size && heat && heat.length > 0) heatMaps.set(path, await heatUri(heat, size));
  }
  return { thumbnails, heatMaps };
}

function timeFacts(folder: string): [string, string][] {
  const path = join(folder, "timing.jsonl");
  const last = existsSync(path) ? readText(path).trimEnd().split("\n").at(-1) : undefined;
  const seconds = last ? (JSON.parse(last) as { seconds?: number }).seconds : undefined;
  return seconds === undefined ? [] : [["time", `${Math.round(seconds)} s`]];
}

/** The next commands, ready to copy. */
export function commandsFor(
  folder: string,
  { data, root, dataset }: Pick<TrainSettings, "data" | "root" | "dataset">,
): [string, string][] {
  const run = shellWord(folder); // commands accept the folder in place of its model file
  const nudge = typedCommand();
  const source = [shellWord(data), ...(root ? ["--root", shellWord(root)] : [])].join(" ");
  return [
    ["Classify pictures", `${nudge} predict ${run} new-pictures/ --out predictions.csv`],
    [
      "Evaluate the model on labelled pictures of a new domain",
      `${nudge} eval ${run} --data new-domain/ --html eval.html`,
    ],
    [
      "Compute features, and the distance of pictures from the training domains",
      `${nudge} embed ${run} --data ${source}`,
    ],
    ["Serve the model over HTTP, with a page for trying it", `${nudge} serve ${run}`],
    ["Export the model for other programs", `${nudge} export ${run} --out model.onnx`],
    ...(isOwnDataset(dataset)
      ? ([
          ["Find likely label errors, and correct them on a page", `${nudge} data review ${source}`],
          ["Estimate what more pictures would add", `${nudge} data curve ${source}`],
        ] satisfies [string, string][])
      : []),
  ];
}
