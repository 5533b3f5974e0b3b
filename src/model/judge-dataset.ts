/**
 * Evaluates a model on every chosen picture of a labelled dataset: predictions, and distances from the training
 * domains.
 */

import type { PlacedPicture } from "../analysis/evaluation.js";
import { judge } from "../analysis/judged.js";
import { DataError } from "../errors.js";
import { temperatureOf } from "./about.js";
import type { ModelDataset } from "./dataset-batches.js";
import type { Model } from "./model.js";

export interface JudgedDataset {
  readonly pictures: readonly PlacedPicture[];
  /** Pictures that could not be read, and why. */
  readonly problems: ReadonlyMap<string, string>;
}

/** Predicts the pictures, in order. */
export async function judgeDataset(
  model: Model,
  dataset: ModelDataset,
  { batchSize, onProgress }: { batchSize?: number; onProgress?: (done: number) => void } = {},
): Promise<JudgedDataset> {
  const pictures: PlacedPicture[] = [];
  const temperature = temperatureOf(model.about);
  const problems = new Map<string, string>();
  for await (const batch of dataset.batches(batchSize)) {
    using _ = batch;
    for (const [name, problem] of batch.problems) problems.set(name, problem);
    const predictions = batch.x ? model.predictTensor(batch.x) : [];
    for (const [i, { logits, distance }] of predictions.entries())
      pictures.push({ ...judge(logits, batch.samples[i], temperature), percentile: distance?.percentile ?? null });
    onProgress?.(pictures.length + problems.size);
  }
  if (pictures.length === 0)
    throw new DataError(`none of the ${problems.size} pictures could be read; the first: ${[...problems.values()][0]}`);
  return { pictures, problems };
}
