/** The features of every chosen picture of a labelled dataset, with names, classes and distances. */

import { type Tensor, tensor } from "../engine/tensor.js";
import { DataError } from "../errors.js";
import type { LabelledSample, ModelDataset } from "./dataset-batches.js";
import type { DomainDistance } from "./domain-distance.js";
import type { Model } from "./model.js";

/** An embedded picture. Its features are the row with its index. */
export interface EmbeddedPicture extends LabelledSample {
  readonly distance: DomainDistance | null;
}

export interface EmbeddedDataset {
  readonly pictures: readonly EmbeddedPicture[];
  readonly width: number;
  /** Rows of `width` numbers, one after the other. */
  readonly features: Float32Array;
  /** Pictures that could not be read, and why. */
  readonly problems: ReadonlyMap<string, string>;
}

/** Embeds the pictures, in their order. */
export async function embedDataset(
  model: Model,
  dataset: ModelDataset,
  { batchSize, onProgress }: { batchSize?: number; onProgress?: (done: number) => void } = {},
): Promise<EmbeddedDataset> {
  const { width } = model;
  const features = new Float32Array(dataset.count * width);
  const pictures: EmbeddedPicture[] = [];
  const problems = new Map<string, string>();
  for await (const batch of dataset.batches(batchSize)) {
    using _ = batch;
    for (const [name, problem] of batch.problems) problems.set(name, problem);
    const predictions = batch.x ? model.predictTensor(batch.x) : [];
    for (const [i, { features: row, distance }] of predictions.entries()) {
      features.set(row, pictures.length * width);
      pictures.push({ ...batch.samples[i], distance });
    }
    onProgress?.(pictures.length + problems.size);
  }
  if (pictures.length === 0)
    throw new DataError(`none of the ${problems.size} pictures could be read; the first: ${[...problems.values()][0]}`);
  return { pictures, width, features: features.subarray(0, pictures.length * width), problems };
}

/** The features of an embedding as a matrix, or only some rows; it belongs to the enclosing scope. */
export function matrixOf({ features, width }: EmbeddedDataset, rows?: readonly number[]): Tensor {
  const all = tensor(features, { shape: [features.length / width, width] });
  return rows ? all.take(rows) : all;
}
