/** The predictions of a model for the pictures of a new site, with their features. */

import type { NamedPicture } from "../data/named-pictures.js";
import type { Model, Prediction } from "../model/model.js";
import { describeSite, type SiteReport } from "./new-site.js";

export class SitePredictions {
  readonly pictures: {
    readonly name: string;
    readonly input: NamedPicture["input"];
    readonly prediction: Prediction;
  }[] = [];
  /** Why pictures could not be read. */
  readonly problems: string[] = [];

  constructor(private readonly model: Model) {}

  /** Predicts pictures. */
  async add(
    pictures: readonly NamedPicture[],
    { batchSize, onProgress }: { batchSize?: number; onProgress?: (done: number) => void } = {},
  ): Promise<void> {
    const inputs = pictures.map(({ input }) => input);
    for await (const { place, prediction, problem } of this.model.predictEach(inputs, { batchSize })) {
      // A copy, because the features of a batch share their memory with all others of the batch.
      if (prediction)
        this.pictures.push({
          ...pictures[place],
          prediction: { ...prediction, features: prediction.features.slice() },
        });
      else this.problems.push(problem.message);
      onProgress?.(place + 1);
    }
  }

  describe(): SiteReport {
    const { about, distanceStatistics } = this.model;
    return describeSite(about, this.pictures, distanceStatistics ? distanceStatistics.quantiles.toNumbers() : null);
  }
}
