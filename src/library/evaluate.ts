/** Evaluates a model on labelled data in one call, for programs: the same measures as `nudge eval`. */

import { type Evaluation, evaluation, type PlacedPicture } from "../analysis/evaluation.js";
import type { Dataset } from "../data/dataset.js";
import { openDataset } from "../data/open-dataset.js";
import { judgeDataset, loadModel, type Model, ModelDataset } from "../model/index.js";

export interface EvaluateOptions {
  /** Only these domains (default: all). */
  readonly domains?: readonly string[];
  /** At most this many samples of each domain, evenly chosen. */
  readonly limit?: number;
  readonly batchSize?: number;
  /** The number of bins of the calibration error (default: 15). */
  readonly bins?: number;
  /** Called after every batch with the number of samples so far. */
  readonly onProgress?: (done: number) => void;
}

export interface ModelEvaluation extends Evaluation {
  /** Every sample with its prediction, in order: what `pairedModels` compares. */
  readonly pictures: readonly PlacedPicture[];
  /** Samples that could not be read, and why. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** What was excluded, such as classes that the model does not know. */
  readonly notes: readonly string[];
}

/**
 * Evaluates a model (or the model in a file or run folder) on a dataset (or one that `openDataset` opens by name or path). Classes are
 * matched by name.
 *
 * @example const { overall, domains } = await evaluate("runs/latest", "new-clinic/");
 */
export async function evaluate(
  model: Model | string,
  dataset: Dataset | string,
  { domains, limit, batchSize, bins, onProgress }: EvaluateOptions = {},
): Promise<ModelEvaluation> {
  const samples = typeof dataset === "string" ? await openDataset(dataset) : dataset;
  const loaded = typeof model === "string" ? await loadModel(model) : null;
  using _ = loaded;
  const used = loaded ?? (model as Model);
  const chosen = new ModelDataset(used, samples, { domains, limit });
  const { pictures, problems } = await judgeDataset(used, chosen, { batchSize, onProgress });
  return { ...evaluation(pictures, used.classes, { bins }), pictures, unreadable: problems, notes: chosen.notes };
}
