/** `nudge eval --against`: evaluates another model on the same pictures and tests whether the two differ. */

import type { PlacedPicture } from "../analysis/evaluation.js";
import { type PairedModels, pairedModels } from "../analysis/paired-models.js";
import { countOf, listNames, showName } from "../data/show-name.js";
import { DataError } from "../errors.js";
import { type TrainedOn, trainedOn } from "../model/trained-on.js";
import { signedPoints } from "../selection/signed-points.js";
import { knownTraining } from "./known-training.js";
import { type DataFlags, openModelData } from "./model-data.js";
import { type ModelFlags, openModel, progressLine } from "./model-options.js";

/** In each pair, the second value belongs to the evaluated model and the first to the model it is compared with. */
export interface Against {
  readonly model: string;
  readonly overall: PairedModels;
  readonly domains: readonly (PairedModels & { readonly domain: string })[];
  /** What makes the comparison unequal, if the models have different classes. */
  readonly classes?: ClassDifference;
  /** The pictures that the other model was trained on, if any: then the comparison is not fair. */
  readonly trainedOn: TrainedOn | null;
}

/** The classes that only one of two models has. */
export interface ClassDifference {
  readonly onlyThis: readonly string[];
  readonly onlyOther: readonly string[];
  /** The number of pictures that are not compared, because the other model does not know their class. */
  readonly excluded: number;
}

/** Evaluates another model on the same pictures and compares the two pair by pair. `classes` are those of the evaluated model. */
export async function judgeAgainst(
  path: string,
  { pictures, classes }: { pictures: readonly PlacedPicture[]; classes: readonly string[] },
  { flags, pairs }: { flags: ModelFlags & DataFlags; pairs: readonly string[] },
): Promise<Against> {
  using model = await openModel(path, flags);
  const { matchClasses } = await import("../model/dataset-batches.js");
  const { places, unknown: onlyThis, missing: onlyOther } = matchClasses(model.classes, classes);
  const known = pictures.filter(({ label }) => places[label] !== undefined);
  if (known.length === 0)
    throw new DataError(
      `--against ${path}: no picture belongs to a class that both models know, so the models cannot be compared`,
    );
  const only = new Set(known.map(({ name }) => name));
  const { dataset, shown } = await openModelData(model, { ...flags, limit: undefined }, pairs, { only });
  const { judgeDataset } = await import("../model/judge-dataset.js");
  using line = progressLine(
    `evaluating ${showName(path)}`,
    shown.count,
    "there is no result before both are finished (use --limit for fewer pictures)",
  );
  const { batchSize } = flags;
  const { pictures: others } = await judgeDataset(model, shown, { batchSize, onProgress: line.show });
  const overall = pairedModels(others, pictures);
  const names = [...new Set(pictures.map(({ domain }) => domain))];
  const domains = names.flatMap((domain) => {
    const own = pictures.filter((picture) => picture.domain === domain);
    const paired = pairedModels(others, own);
    return paired.count > 0 ? [{ domain, ...paired }] : [];
  });
  const difference = { onlyThis, onlyOther, excluded: pictures.length - known.length };
  return {
    model: path,
    overall,
    domains,
    ...(onlyThis.length + onlyOther.length > 0 && { classes: difference }),
    trainedOn: await trainedOn(model.about, dataset, others, knownTraining(path)),
  };
}

const percent = (share: number): string => (100 * share).toFixed(1);

/** The difference between the classes, as text. */
export function classWords({ onlyThis, onlyOther, excluded }: ClassDifference): string {
  const own = [
    ...(onlyThis.length > 0 ? [`only this model has ${listNames(onlyThis)}`] : []),
    ...(onlyOther.length > 0 ? [`only the other has ${listNames(onlyOther)}`] : []),
  ];
  const left =
    excluded > 0
      ? `; ${countOf(excluded, "picture")} of classes that the other does not know ${excluded === 1 ? "is" : "are"} excluded from the comparison`
      : "";
  return `the models have different classes (${own.join(", ")}), so their tasks are not equally difficult${left}`;
}

/** The comparison as text for a terminal. */
export async function againstText({ model, overall, domains, classes }: Against): Promise<string> {
  const { table } = await import("../report/evaluation-text.js");
  const row = (name: string, each: PairedModels): string[] => [
    name,
    String(each.count),
    percent(each.second.accuracy),
    percent(each.first.accuracy),
    String(each.onlySecond),
    String(each.onlyFirst),
    signedPoints(each.difference),
    `${signedPoints(each.interval[0])} to ${signedPoints(each.interval[1])}`,
  ];
  const rows = domains.map(({ domain, ...each }) => row(showName(domain), each));
  const head = [
    "domain",
    "pictures",
    "this, %",
    "other, %",
    "only this right",
    "only other right",
    "points",
    "95 % interval",
  ];
  return `Compared with ${showName(model)} on the same pictures:\n${table(head, domains.length > 1 ? [...rows, row("all", overall)] : rows)}\n${verdict(overall)}\n${classes ? `warning: ${classWords(classes)}\n` : ""}`;
}

/** The comparison as one sentence, for a page. */
export const againstWords = ({ model, overall, classes }: Against): string =>
  `compared with ${showName(model)} on the same ${countOf(overall.count, "picture")}: ${signedPoints(overall.difference)} points (95 % interval ${signedPoints(overall.interval[0])} to ${signedPoints(overall.interval[1])}); ${verdict(overall)}${classes ? `; ${classWords(classes)}` : ""}`;

function verdict({ count, interval: [from, to] }: PairedModels): string {
  if (from > 0 || to < 0)
    return `this model is ${from > 0 ? "better" : "worse"} than the other on pictures like these, by at least ${signedPoints(Math.min(Math.abs(from), Math.abs(to))).replace("+", "")} points`;
  return `${countOf(count, "picture is", "pictures are")} not enough to show which model is better`;
}
