/**
 * Measures of the features at each evaluation: their norms, ranks and spectrum, and the norm of the classifier. If the
 * classifier is not penalised, smaller features and a larger classifier reduce the penalty at no cost, so scale and
 * rank are logged separately.
 *
 * They are taken of fixed samples: the first of the `out` parts of the training domains, all in one matrix as in a batch,
 * and the first of each test domain's.
 *
 * With `measures=all` the same is recorded of the logits, together with the mean entropy of the predicted probabilities and,
 * on the training domains, a measure of curvature.
 */

import { type RankMeasures, rankMeasures, spectrum } from "../analysis/rank.js";
import type { Loader } from "../data/loader.js";
import { cat } from "../engine/ops.generated.js";
import { allOrNothing, keep, scope } from "../engine/scope.js";
import type { Tensor } from "../engine/tensor.js";
import { CURRENT, type RunRecord } from "../records/record.js";
import { sharpness } from "./curvature.js";
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

/** `features`, or more. */
export type Measures = "features" | "all";

/** Those of FEATURE_METRICS that are recorded of logits, by the name they have there. */
const logitMetric = (metric: string): string => `logits${metric[0].toUpperCase()}${metric.slice(1)}`;

interface ProbeBatch {
  /** Null for the training domains together. */
  readonly domain: string | null;
  readonly x: Tensor;
  readonly y: Tensor;
}

/** The samples the measures are taken of; they live until disposed of. */
export class FeatureProbe implements Disposable {
  private constructor(
    private readonly batches: readonly ProbeBatch[],
    private readonly measures: Measures,
  ) {}

  /** Reads the samples, the same at every start. */
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

  /** Some samples to try a network on. */
  sample(): Tensor {
    return this.batches[0].x;
  }

  /** The rows of the learner as it is now. */
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

/** The ranks of the logits, and the mean entropy of the predicted probabilities in nats. */
function measureLogits(learner: Learner, x: Tensor): { ranks: RankMeasures; entropy: number } {
  return scope(() => {
    const logits = learner.predict(x).to({ dtype: "float64" });
    const logs = logits.logSoftmax(1);
    return { ranks: rankMeasures(logits), entropy: -logs.exp().mul(logs).sum(1).mean().item() };
  });
}
