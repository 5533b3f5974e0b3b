/**
 * Compares a model with an earlier one, pair by pair, on pictures that neither was trained on, to show the effect of added
 * labelled pictures. A run on own pictures stores its model's predictions for its validation pictures, before an exact probe is
 * fitted again with them included. The stored predictions of the earlier model are used for its own validation pictures.
 * Pictures that it has never seen are predicted now.
 */

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import * as v from "valibot";
import { type PairedModels, pairedModels } from "../analysis/paired-models.js";
import type { PictureDataset } from "../data/dataset.js";
import { DataError } from "../errors.js";
import { readText } from "../files/open-file.js";
import { parseStored, type Schema } from "../files/stored-json.js";
import { matchClasses } from "../model/dataset-batches.js";
import { loadModel, readModelAbout } from "../model/index.js";
import { HELD_BACK_FILE, type HeldBack } from "../training/held-back.js";

export interface BeforeAndAfter {
  /** The earlier model. */
  readonly model: string;
  /** In each pair, the first value belongs to the earlier model and the second to this one. */
  readonly overall: PairedModels;
  readonly domains: readonly (PairedModels & { readonly domain: string })[];
  /** The number of validation pictures that are excluded because the earlier model was trained on them. */
  readonly skipped: number;
  /** The classes that the earlier model does not have, and the number of compared pictures of them, which it cannot classify correctly. */
  readonly newClasses: readonly string[];
  readonly ofNewClasses: number;
  /** The classes that only the earlier model has. */
  readonly formerClasses: readonly string[];
  /** Whether it is unknown which pictures the earlier model was trained on. */
  readonly unknown: boolean;
}

/** The stored predictions of a run for its validation pictures; undefined for runs of earlier versions, which did not store them. */
export function readHeldBack(run: string): HeldBack | undefined {
  const path = join(run, HELD_BACK_FILE);
  if (!existsSync(path)) return undefined;
  return parseStored(schema, readText(path), { path, what: "validation pictures" });
}

const schema: Schema<HeldBack> = v.looseObject({
  format: v.literal(1, "1"),
  pictures: v.array(
    v.object({ name: v.string(), domain: v.string(), label: v.string(), predicted: v.string() }),
    "a list of pictures",
  ),
  trained: v.array(v.string(), "a list of names"),
});

/** Compares the model of a run with an earlier one, given by its run or file. */
export async function compareWithEarlier(
  run: string,
  earlier: string,
  { root }: Pick<PictureDataset, "root">,
  { device = "cpu", onProgress }: { device?: string; onProgress?: (done: number, of: number) => void } = {},
): Promise<BeforeAndAfter> {
  const now = readHeldBack(run);
  if (!now)
    throw new DataError(`${run}: it has no ${HELD_BACK_FILE}, so there is nothing to compare on. Train it again`);
  const before = readHeldBack(earlier);
  const predictions = new Map(before?.pictures.map(({ name, predicted }) => [name, predicted]));
  const trained = new Set(before?.trained);
  const counted = now.pictures.filter(({ name }) => !trained.has(name));
  const unseen = counted.filter(({ name }) => !predictions.has(name));
  using model = await loadModel(earlier, { device });
  const labels = [...new Set(now.pictures.map(({ label }) => label))];
  // Class names are matched as in `nudge eval`, where case and punctuation may differ.
  const { places, unknown: newClasses } = matchClasses(model.classes, labels);
  const called = new Map(
    labels.flatMap((label, i) => (places[i] === undefined ? [] : [[model.classes[places[i]!], label]])),
  );
  const files = unseen.map(({ name }) => resolve(root, name));
  for await (const { place, prediction } of model.predictEach(files, { top: 1 })) {
    if (prediction) predictions.set(unseen[place].name, called.get(prediction.label) ?? prediction.label);
    onProgress?.(place + 1, files.length);
  }
  const pairs = counted.filter(({ name }) => predictions.has(name));
  if (pairs.length === 0)
    throw new DataError(
      `${earlier}: it was trained on all ${now.pictures.length} validation pictures of the new model`,
    );
  const paired = (own: readonly HeldBack["pictures"][number][]): PairedModels =>
    pairedModels(
      own.map(({ name, label }) => outcome(name, predictions.get(name) === label)),
      own.map(({ name, label, predicted }) => outcome(name, predicted === label)),
    );
  const names = [...new Set(pairs.map(({ domain }) => domain))];
  return {
    model: earlier,
    overall: paired(pairs),
    domains: names.map((domain) => ({ domain, ...paired(pairs.filter((each) => each.domain === domain)) })),
    skipped: now.pictures.length - counted.length,
    newClasses,
    formerClasses: matchClasses(model.classes, readModelAbout(run).classes).missing,
    ofNewClasses: pairs.filter(({ label }) => newClasses.includes(label)).length,
    unknown: before === undefined,
  };
}

const outcome = (name: string, right: boolean) => ({ name, label: 0, predicted: right ? 0 : 1 });
