/**
 * What the features are like, at each evaluation: their norms, ranks and spectrum, and the norm of the head. With a head that is not
 * penalised, smaller features and a larger head lower the penalty at no cost, so scale and rank are logged apart.
 *
 * They are taken of fixed samples: the first of the `out` parts of the training domains, all in one matrix as in a batch,
 * and the first of each test domain's.
 */

import { type RankMeasures, rankMeasures, spectrum } from "../analysis/rank.js";
import type { Loader } from "../data/loader.js";
import { cat } from "../engine/ops.generated.js";
import { keep, scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { CURRENT, type RunRecord } from "../records/record.js";
import type { Learner } from "./learner.js";

/** As many rows as a batch of the published setting has. */
const ROWS = 96;

export const FEATURE_METRICS = [
  "nuclearNorm",
  "frobeniusNorm",
  "normRatio",
  "stableRank",
  "centredStableRank",
  "effectiveRank",
  "centredEffectiveRank",
] as const satisfies readonly (keyof RankMeasures)[];

/** Of the singular values, largest first, those that are recorded: enough to draw the spectrum over time. */
export const SPECTRUM_PLACES: readonly number[] = [1, 2, 4, 8, 16, 32, 64];

/** The metric of the k-th singular value. */
export const singularValueMetric = (place: number): string => `singularValue${place}`;

/** The samples the measures are taken of; they live until disposed of. */
export class FeatureProbe implements Disposable {
  private constructor(private readonly batches: readonly { domain: string | null; x: Tensor }[]) {}

  /** Reads the samples, the same at every start. */
  static async read(
    loader: Loader,
    trainDomains: readonly string[],
    testDomains: readonly string[],
  ): Promise<FeatureProbe> {
    const first = async (domain: string, rows: number): Promise<Tensor[]> => {
      for await (const batch of loader.evaluate(domain, "out", { batchSize: rows })) {
        batch.y.dispose();
        return [batch.x];
      }
      return [];
    };
    const training: Tensor[] = [];
    for (const domain of trainDomains) training.push(...(await first(domain, Math.ceil(ROWS / trainDomains.length))));
    const batches: { domain: string | null; x: Tensor }[] = [];
    if (training.length > 0) batches.push({ domain: null, x: keep(cat(training)) });
    for (const x of training) x.dispose();
    for (const domain of testDomains) for (const x of await first(domain, ROWS)) batches.push({ domain, x });
    return new FeatureProbe(batches);
  }

  /** Some samples to try a network on. */
  sample(): Tensor {
    return this.batches[0].x;
  }

  /** The rows of the learner as it is now. */
  measure(learner: Learner, step: number): RunRecord[] {
    const rows: RunRecord[] = [];
    for (const { domain, x } of this.batches) {
      const measured = scope(() => {
        const features = learner.features(x);
        const sigmas = features && spectrum(features);
        return features && sigmas && { ranks: rankMeasures(features, sigmas), sigmas };
      });
      if (!measured) continue;
      const add = (metric: string, value: number): void =>
        void rows.push({ step, model: CURRENT, domain, split: "out", metric, value });
      for (const metric of FEATURE_METRICS) add(metric, measured.ranks[metric]);
      for (const place of SPECTRUM_PLACES)
        if (place <= measured.sigmas.length) add(singularValueMetric(place), measured.sigmas[place - 1]);
    }
    const value = learner.headNorm();
    if (value !== null) rows.push({ step, model: CURRENT, domain: null, split: null, metric: "headNorm", value });
    return rows;
  }

  [Symbol.dispose](): void {
    for (const { x } of this.batches) x.dispose();
  }
}
