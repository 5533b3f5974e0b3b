/**
 * Measures of the features at each evaluation: their norms, ranks and spectrum, and the norm of the classifier. If the
 * classifier is not penalized, smaller features and a larger classifier reduce the penalty at no cost, so scale and
 * rank are logged separately.
 *
 * They are computed on fixed samples: the first ones of the `out` splits of the training domains, all in one matrix as
 * in a batch, and the first ones of each test domain.
 *
 * With `measures=all` the same is recorded for the logits, together with the mean entropy of the predicted
 * probabilities and, on the training domains, a measure of curvature.
 */

import { type RankMeasures, rankMeasures, spectrum } from "../analysis/rank.js";
import type { Loader } from "../data/loader.js";
import { cat } from "../engine/ops.generated.js";
import { allOrNothing, keep, scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { CURRENT, type RunRecord } from "../records/record.js";
import { sharpness } from "./curvature.js";
import type { Learner } from "./learner.js";

/** The number of rows of a batch in the published setting. */
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

/** The recorded singular values, counted from the largest. These are enough to plot the spectrum over time. */
export const SPECTRUM_PLACES: readonly number[] = [1, 2, 4, 8, 16, 32, 64];

/** Returns the metric name of the k-th singular value. */
export const singularValueMetric = (place: number): string => `singularValue${place}`;

/** The measures to record. */
export type Measures = "features" | "all";

/** Returns the name of a metric for the logits. */
const logitMetric = (metric: string): string => `logits${metric[0].toUpperCase()}${metric.slice(1)}`;

interface ProbeBatch {
  /** The domain, or null for all training domains together. */
  readonly domain: string | null;
  readonly x: Tensor;
  readonly y: Tensor;
}

/** The samples for the measures. They are kept until disposed of. */
export class FeatureProbe implements Disposable {
  private constructor(
    private readonly batches: readonly ProbeBatch[],
    private readonly measures: Measures,
  ) {}

  /** Reads the samples, which are the same at every start. */
  static async read(
    loader: Loader,
    trainDomains: readonly string[],
    testDomains: readonly string[],
    measures: Measures = "features",
  ): Promise<FeatureProbe> {
    const first = async (domain: string, rows: number): Promise<ProbeBatch[]> => {
      for await (const { x, y } of loader.evaluate(domain, "out", { batchSize: rows })) return [{ domain, x, y }];
      return [];
    };
    const training: ProbeBatch[] = [];
    for (const domain of trainDomains) training.push(...(await first(domain, Math.ceil(ROWS / trainDomains.length))));
    const batches: ProbeBatch[] = [];
    if (training.length > 0) {
      const [x, y] = allOrNothing(() =>
        (["x", "y"] as const).map((name) => keep(cat(training.map((batch) => batch[name])))),
      );
      batches.push({ domain: null, x, y });
    }
    for (const { x, y } of training) for (const tensor of [x, y]) tensor.dispose();
    for (const domain of testDomains) batches.push(...(await first(domain, ROWS)));
    return new FeatureProbe(batches, measures);
  }

  /** Returns some samples to run a network on. */
  sample(): Tensor {
    return this.batches[0].x;
  }

  /** Returns the rows for the current state of the learner. */
  measure(learner: Learner, step: number): RunRecord[] {
    const rows: RunRecord[] = [];
    for (const { domain, x, y } of this.batches) {
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
      if (this.measures === "all") {
        const ofLogits = measureLogits(learner, x);
        for (const metric of FEATURE_METRICS) add(logitMetric(metric), ofLogits.ranks[metric]);
        add("softmaxEntropy", ofLogits.entropy);
        if (domain === null) add("sharpness", sharpness(learner, x, y));
      }
    }
    const value = learner.headNorm();
    if (value !== null) rows.push({ step, model: CURRENT, domain: null, split: null, metric: "headNorm", value });
    return rows;
  }

  [Symbol.dispose](): void {
    for (const { x, y } of this.batches) for (const tensor of [x, y]) tensor.dispose();
  }
}

/** Returns the ranks of the logits, and the mean entropy of the predicted probabilities in nats. */
function measureLogits(learner: Learner, x: Tensor): { ranks: RankMeasures; entropy: number } {
  return scope(() => {
    const logits = learner.predict(x).to({ dtype: "float64" });
    const logs = logits.logSoftmax(1);
    return { ranks: rankMeasures(logits), entropy: -logs.exp().mul(logs).sum(1).mean().item() };
  });
}
