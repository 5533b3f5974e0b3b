/**
 * What the features of each method are like: norms and ranks at the step that selection chose, as the runs recorded them,
 * the mean over held-out domains and trials. Scale and rank stand side by side: with a head that is not penalised, smaller
 * features and a larger head lower the penalty at no cost.
 */

import { CURRENT, type RunRecord } from "../records/index.js";
import type { GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "./names.js";
import type { Outcome } from "./outcome.js";

/** The measures, by the metric of their records, in the order of the columns. */
export const FEATURE_COLUMNS = {
  nuclearNorm: "‖F‖_*",
  frobeniusNorm: "‖F‖_F",
  stableRank: "stable rank",
  centredStableRank: "centred stable rank",
  effectiveRank: "effective rank",
  centredEffectiveRank: "centred effective rank",
} as const;

type Column = keyof typeof FEATURE_COLUMNS;

export interface FeatureRow {
  readonly title: string;
  readonly of: "training domains" | "held-out domain";
  readonly values: Readonly<Record<Column, number>>;
  /** The Frobenius norm of the head's weights; null where it was not recorded. */
  readonly headNorm: number | null;
  readonly runs: number;
}

export interface FeatureTable {
  readonly title: string;
  readonly rows: readonly FeatureRow[];
}

export const featureWords =
  "Of up to 96 held-back pictures of the training domains together, and of the held-out domain, at the chosen step; the mean over held-out domains and trials. Ranks are of the matrix as it is, and centred: with its mean row taken off.";

/** A table for each dataset whose runs recorded their features; averaged weights are not measured. */
export function featureTables(outcome: Outcome): FeatureTable[] {
  return outcome.datasets.flatMap((dataset) => {
    const rows = outcome.methods
      .filter(({ method }) => method.model === CURRENT)
      .flatMap(({ key, title }) => {
        const chosen = outcome.resultsOf(key, dataset).map((result) => recordsAt(outcome, result));
        return [
          ...row(title, "training domains", chosen, ({ domain }) => domain === null),
          ...row(title, "held-out domain", chosen, ({ domain }, { testDomain }) => domain === testDomain),
        ];
      });
    return rows.length > 0 ? [{ title: datasetTitle(dataset), rows }] : [];
  });
}

interface Chosen {
  readonly testDomain: string;
  readonly records: readonly RunRecord[];
}

function recordsAt(outcome: Outcome, { choice, testDomain }: GroupResult): Chosen {
  const records = outcome.storedOf(choice.run)?.records ?? [];
  return { testDomain, records: records.filter(({ step, model }) => step === choice.step && model === CURRENT) };
}

function row(
  title: string,
  of: FeatureRow["of"],
  chosen: readonly Chosen[],
  isOwn: (record: RunRecord, run: Chosen) => boolean,
): FeatureRow[] {
  const over = (metric: string): number =>
    mean(
      chosen.map((run) => run.records.find((each) => each.metric === metric && isOwn(each, run))?.value ?? Number.NaN),
    );
  const names = Object.keys(FEATURE_COLUMNS) as Column[];
  const values = Object.fromEntries(names.map((name) => [name, over(name)])) as Record<Column, number>;
  if (chosen.length === 0 || !Object.values(values).every(Number.isFinite)) return [];
  const headNorm = mean(
    chosen.map(({ records }) => records.find(({ metric }) => metric === "headNorm")?.value ?? Number.NaN),
  );
  return [{ title, of, values, headNorm: Number.isFinite(headNorm) ? headNorm : null, runs: chosen.length }];
}
