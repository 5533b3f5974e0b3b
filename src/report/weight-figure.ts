/**
 * The figure of the penalty's weight, after the paper's Figure 4: accuracy on held-out domains and stable rank of their
 * features, against λ. Drawn where runs of one method were made with two weights or more, all on the same domains and
 * trials; the method without the penalty is a dashed line across.
 */

import { CURRENT } from "../records/index.js";
import type { GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { datasetTitle, paperName, variantBesidesPenalties } from "./names.js";
import type { Outcome, ReportedMethod } from "./outcome.js";
import { lineChart, panels, type Series } from "./plot.js";

const PENALTY = "nuclear-norm";

/** Mean over held-out domains and trials of one method. */
export interface Measured {
  readonly weight: number;
  /** Percent. */
  readonly accuracy: number;
  /** As the paper defines it (uncentred), and centred; null where the runs did not record it. */
  readonly stableRank: number | null;
  readonly centredStableRank: number | null;
}

/** What one algorithm did with several weights of the penalty, lightest first, and without it. */
export interface WeightStudy {
  readonly title: string;
  readonly points: readonly Measured[];
  readonly baseline: Measured | null;
}

/** The figures of a dataset, one for each algorithm that was run with several weights. */
export const weightFigures = (outcome: Outcome, dataset: string): { title: string; svg: string }[] =>
  weightStudies(outcome, dataset).map(({ title, points, baseline }) => ({ title, svg: draw(title, points, baseline) }));

/** The numbers of those figures. */
export function weightStudies(outcome: Outcome, dataset: string): WeightStudy[] {
  const plain = outcome.methods.filter(({ method }) => method.regularizers.length === 0 && method.model === CURRENT);
  return plain.flatMap((base) => {
    const baseline = chosen(outcome, base, dataset);
    const weighted = outcome.methods
      .filter(
        ({ method }) =>
          method.algorithm === base.method.algorithm &&
          method.model === CURRENT &&
          method.regularizers.join() === PENALTY &&
          variantBesidesPenalties(method) === base.method.variant,
      )
      .flatMap((method) => chosen(outcome, method, dataset) ?? [])
      .filter(({ weight, runs }) => weight > 0 && (baseline === null || runs === baseline.runs))
      .sort((a, b) => a.weight - b.weight);
    const comparable = weighted.filter(({ runs }) => runs === weighted[0].runs);
    if (comparable.length < 2) return [];
    return [
      {
        title: `${paperName(base.method)}-NU on ${datasetTitle(dataset)}`,
        points: comparable.map((each) => measure(outcome, each)),
        baseline: baseline && measure(outcome, baseline),
      },
    ];
  });
}

/** What selection chose of a method on a dataset. */
interface Chosen {
  readonly weight: number;
  /** Held-out domains and trials: what two methods must have alike to be compared. */
  readonly runs: string;
  readonly results: readonly GroupResult[];
}

/** Null where the runs do not have one weight: random search gives each trial its own. */
function chosen(outcome: Outcome, { key }: ReportedMethod, dataset: string): Chosen | null {
  const results = outcome.resultsOf(key, dataset);
  const weights = new Set(results.map((result) => weightOf(outcome, result)));
  if (weights.size !== 1 || results.some(({ choice }) => !Number.isFinite(choice.test))) return null;
  const runs = results.map(({ testDomain, trialSeed }) => JSON.stringify([testDomain, trialSeed])).sort();
  return { weight: [...weights][0], runs: runs.join(), results };
}

function measure(outcome: Outcome, { weight, results }: Chosen): Measured {
  const ranks = results.map((result) => recordedRanks(outcome, result));
  const over = (metric: keyof (typeof ranks)[number]): number | null => {
    const values = ranks.map((each) => each[metric] ?? Number.NaN);
    return values.every(Number.isFinite) ? mean(values) : null;
  };
  return {
    weight,
    accuracy: mean(results.map(({ choice }) => 100 * choice.test)),
    stableRank: over("stableRank"),
    centredStableRank: over("centredStableRank"),
  };
}

/** The penalty's weight in the run that was chosen; 0 without the penalty. */
function weightOf(outcome: Outcome, { choice }: GroupResult): number {
  const penalty = outcome.storedOf(choice.run)?.settings.regularizers.find(({ id }) => id === PENALTY);
  return Number(penalty?.settings.weight ?? 0);
}

/** What the chosen run recorded of the held-out domain's features at the chosen step. */
function recordedRanks(
  outcome: Outcome,
  { choice, testDomain }: GroupResult,
): { stableRank?: number; centredStableRank?: number } {
  const records = outcome.storedOf(choice.run)?.records ?? [];
  const own = records.filter(
    ({ step, model, domain }) => step === choice.step && model === CURRENT && domain === testDomain,
  );
  const ofMetric = (metric: string): number | undefined => own.find((record) => record.metric === metric)?.value;
  return { stableRank: ofMetric("stableRank"), centredStableRank: ofMetric("centredStableRank") };
}

function draw(title: string, weighted: readonly Measured[], baseline: Measured | null): string {
  const ends = [weighted[0].weight, weighted[weighted.length - 1].weight];
  const line = (label: string, value: (measured: Measured) => number | null, color?: string): Series[] => {
    const points = weighted.flatMap((measured) => {
      const y = value(measured);
      return y === null ? [] : [{ x: measured.weight, y }];
    });
    const across = baseline && value(baseline);
    if (points.length === 0) return [];
    const without =
      across === null
        ? []
        : [{ label: `${label}, no penalty`, color, dash: true, points: ends.map((x) => ({ x, y: across })) }];
    return [{ label, color, marker: true, points }, ...without];
  };
  const axes = { xLabel: "weight λ", logX: true, width: 560, height: 360 };
  const accuracy = line("held-out accuracy", (measured) => measured.accuracy, "#0072B2");
  const ranks = [
    ...line("stable rank", (measured) => measured.stableRank, "#D55E00"),
    ...line("centred", (measured) => measured.centredStableRank, "#009E73"),
  ];
  const charts = [lineChart({ ...axes, title: "Accuracy", yLabel: "accuracy (%)", series: accuracy })];
  if (ranks.length > 0)
    charts.push(lineChart({ ...axes, title: "Held-out features", yLabel: "stable rank", series: ranks }));
  return panels(charts, { title });
}
