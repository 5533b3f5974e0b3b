/**
 * The figure of the penalty's weight, after the paper's Figure 4: accuracy on held-out domains and stable rank of the
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
interface Measured {
  readonly weight: number;
  readonly runs: string;
  /** Percent. */
  readonly accuracy: number;
  /** As the paper defines it (uncentred), and centred; null where the runs did not record it. */
  readonly stableRank: number | null;
  readonly centredStableRank: number | null;
}

/** The figures of a dataset, one for each algorithm that was run with several weights. */
export function weightFigures(outcome: Outcome, dataset: string): string[] {
  const plain = outcome.methods.filter(({ method }) => method.regularizers.length === 0 && method.model === CURRENT);
  return plain.flatMap((base) => {
    const baseline = measure(outcome, base, dataset);
    const weighted = outcome.methods
      .filter(
        ({ method }) =>
          method.algorithm === base.method.algorithm &&
          method.model === CURRENT &&
          method.regularizers.join() === PENALTY &&
          variantBesidesPenalties(method) === base.method.variant,
      )
      .flatMap((method) => measure(outcome, method, dataset) ?? [])
      .filter(({ weight, runs }) => weight > 0 && (baseline === null || runs === baseline.runs))
      .sort((a, b) => a.weight - b.weight);
    const comparable = weighted.filter(({ runs }) => runs === weighted[0].runs);
    return comparable.length < 2
      ? []
      : [draw(`${paperName(base.method)}-NU on ${datasetTitle(dataset)}`, comparable, baseline)];
  });
}

function measure(outcome: Outcome, { key }: ReportedMethod, dataset: string): Measured | null {
  const results = outcome.resultsOf(key, dataset);
  const weights = new Set(results.map((result) => weightOf(outcome, result)));
  // Random search gives each trial a weight of its own: then there is no weight to plot against.
  if (weights.size !== 1) return null;
  const over = (of: (result: GroupResult) => number | undefined): number | null => {
    const values = results.map(of);
    return values.every((value) => value !== undefined && Number.isFinite(value)) ? mean(values as number[]) : null;
  };
  const accuracy = over(({ choice }) => 100 * choice.test);
  if (accuracy === null) return null;
  return {
    weight: [...weights][0],
    runs: results
      .map(({ testDomain, trialSeed }) => JSON.stringify([testDomain, trialSeed]))
      .sort()
      .join(),
    accuracy,
    stableRank: over((result) => recorded(outcome, result, "stableRank")),
    centredStableRank: over((result) => recorded(outcome, result, "centredStableRank")),
  };
}

/** The penalty's weight in the run that was chosen; 0 without the penalty. */
function weightOf(outcome: Outcome, { choice }: GroupResult): number {
  const penalty = outcome.storedOf(choice.run)?.settings.regularizers.find(({ id }) => id === PENALTY);
  return Number(penalty?.settings.weight ?? 0);
}

/** What the chosen run recorded of its training domains' features at the chosen step. */
function recorded(outcome: Outcome, { choice }: GroupResult, metric: string): number | undefined {
  const records = outcome.storedOf(choice.run)?.records ?? [];
  return records.find(
    (record) =>
      record.metric === metric && record.step === choice.step && record.model === CURRENT && record.domain === null,
  )?.value;
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
  if (ranks.length > 0) charts.push(lineChart({ ...axes, title: "Features", yLabel: "stable rank", series: ranks }));
  return panels(charts, { title });
}
