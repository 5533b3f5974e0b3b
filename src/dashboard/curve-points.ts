/** The points of charts from the curves of runs. */

import type { CurveData, RunCurves } from "./api.js";

export interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * The points of one curve. Values that are not finite are skipped, so the line continues to the next. If a step occurs
 * twice, the last value counts.
 */
export function pointsOf({ steps, values }: CurveData, scale = 1): Point[] {
  const byStep = new Map<number, number>();
  steps.forEach((step, i) => {
    const value = values[i];
    if (value !== null) byStep.set(step, scale * value);
  });
  return Array.from(byStep, ([x, y]) => ({ x, y })).sort((a, b) => a.x - b.x);
}

/** The curve, or the mean of several curves, that represents a run in a comparison. */
export interface Wanted {
  readonly metric: string;
  readonly model: string;
  /** Null means measured on all training domains together. */
  readonly domains: readonly (string | null)[];
  readonly split: string | null;
}

/** The mean over domains at each step at which all of them have a value. */
export function meanPoints({ curves }: RunCurves, { metric, model, domains, split }: Wanted, scale = 1): Point[] {
  const parts = domains.map((domain) => {
    const curve = curves.find(
      (each) => each.metric === metric && each.model === model && each.domain === domain && each.split === split,
    );
    return new Map((curve ? pointsOf(curve, scale) : []).map(({ x, y }) => [x, y]));
  });
  const [first, ...others] = parts;
  if (!first) return [];
  return [...first].flatMap(([x, y]) => {
    const values = [y, ...others.map((part) => part.get(x))];
    if (values.some((value) => value === undefined)) return [];
    return [{ x, y: (values as number[]).reduce((sum, value) => sum + value, 0) / values.length }];
  });
}

/** The titles of metrics. */
const titles: Readonly<Record<string, string>> = {
  accuracy: "Accuracy",
  loss: "Loss",
  stableRank: "Stable rank",
  centredStableRank: "Stable rank, centred",
  effectiveRank: "Effective rank",
  centredEffectiveRank: "Effective rank, centred",
  nuclearNorm: "Nuclear norm ‖F‖∗",
  frobeniusNorm: "Frobenius norm ‖F‖",
  normRatio: "‖F‖∗ / ‖F‖",
  headNorm: "Norm of the classifier",
  probeC: "C of the exact probe",
  probeGradient: "Largest gradient of the exact probe",
};

/** `Stable rank, centred`; an unknown metric is its own title. */
export const metricTitle = (metric: string): string => titles[metric] ?? metric.replace(/^singularValue/, "σ");

/** Measures of the features, as opposed to measures of predictions. */
export const rankMetrics = ["stableRank", "centredStableRank", "effectiveRank", "centredEffectiveRank"] as const;
export const normMetrics = ["nuclearNorm", "frobeniusNorm", "normRatio", "headNorm"] as const;
