/** `nudge eval --against`: evaluates another model on the same pictures and tests whether the two differ. */

import type { PlacedPicture } from "../analysis/evaluation.js";
import { type PairedModels, pairedModels } from "../analysis/paired-models.js";
import { countOf, showName } from "../data/show-name.js";
import { DataError } from "../errors.js";
import { type TrainedOn, trainedOn } from "../model/trained-on.js";
import { knownTraining } from "./known-training.js";
import { type DataFlags, openModelData } from "./model-data.js";
import { type ModelFlags, openModel, progressLine } from "./model-options.js";

/** In each pair, the second value belongs to the evaluated model and the first to the model it is compared with. */
export interface Against {
  readonly model: string;
  readonly overall: PairedModels;
  readonly domains: readonly (PairedModels & { readonly domain: string })[];
  /** The pictures that the other model was trained on, if any: then the comparison is not fair. */
  readonly trainedOn: TrainedOn | null;
}

/** Evaluates another model on the same pictures and compares the two pair by pair. */
export async function judgeAgainst(
  path: string,
  pictures: readonly PlacedPicture[],
  { flags, pairs }: { flags: ModelFlags & DataFlags; pairs: readonly string[] },
): Promise<Against> {
  using model = await openModel(path, flags);
  const { dataset, shown } = await openModelData(model, flags, pairs);
  const { judgeDataset } = await import("../model/judge-dataset.js");
  using line = progressLine(
    `evaluating ${showName(path)}`,
    shown.count,
    "there is no result before both are finished (use --limit for fewer pictures)",
  );
  const { batchSize } = flags;
  const { pictures: others } = await judgeDataset(model, shown, { batchSize, onProgress: line.show });
  const overall = pairedModels(others, pictures);
  if (overall.count === 0)
    throw new DataError(
      `--against ${path}: no picture belongs to a class that both models know, so the models cannot be compared`,
    );
  const names = [...new Set(pictures.map(({ domain }) => domain))];
  const domains = names.flatMap((domain) => {
    const own = pictures.filter((picture) => picture.domain === domain);
    const paired = pairedModels(others, own);
    return paired.count > 0 ? [{ domain, ...paired }] : [];
  });
  return {
    model: path,
    overall,
    domains,
    trainedOn: await trainedOn(model.about, dataset, others, knownTraining(path)),
  };
}

const percent = (share: number): string => (100 * share).toFixed(1);
const signed = (share: number): string => `${share < 0 ? "-" : "+"}${percent(Math.abs(share))}`;

/** The comparison as text for a terminal. */
export async function againstText({ model, overall, domains }: Against): Promise<string> {
  const { table } = await import("../report/evaluation-text.js");
  const row = (name: string, each: PairedModels): string[] => [
    name,
    String(each.count),
    percent(each.second.accuracy),
    percent(each.first.accuracy),
    String(each.onlySecond),
    String(each.onlyFirst),
    signed(each.difference),
    `${signed(each.interval[0])} to ${signed(each.interval[1])}`,
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
  return `Compared with ${showName(model)} on the same pictures:\n${table(head, domains.length > 1 ? [...rows, row("all", overall)] : rows)}\n${verdict(overall)}\n`;
}

/** The comparison as one sentence, for a page. */
export const againstWords = ({ model, overall }: Against): string =>
  `compared with ${showName(model)} on the same ${countOf(overall.count, "picture")}: ${signed(overall.difference)} points (95 % interval ${signed(overall.interval[0])} to ${signed(overall.interval[1])}); ${verdict(overall)}`;

function verdict({ count, interval: [from, to] }: PairedModels): string {
  if (from > 0 || to < 0)
    return `this model is ${from > 0 ? "better" : "worse"} than the other on pictures like these, by at least ${percent(Math.min(Math.abs(from), Math.abs(to)))} points`;
  return `${countOf(count, "picture is", "pictures are")} not enough to show which model is better`;
}
