/**
 * What the features of each method are like: norms and ranks at the step that selection chose, as the runs recorded them,
 * the mean over held-out domains and trials. Scale and rank stand side by side: with a head that is not penalised, smaller
 * features and a larger head lower the penalty at no cost.
 */

import { CURRENT } from "../records/index.js";
import { datasetTitle } from "../settings/names.js";
import {
  type ChosenRecords,
  chosenRecords,
  FEATURE_COLUMNS,
  type FeatureMeasure,
  type FeaturesOf,
  meanMeasure,
} from "./chosen-features.js";
import type { Outcome } from "./outcome.js";

export interface FeatureRow {
  readonly title: string;
  readonly of: FeaturesOf;
  readonly values: Readonly<Record<FeatureMeasure, number>>;
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
        const chosen = outcome.resultsOf(key, dataset).map((result) => chosenRecords(outcome, result));
        return [...row(title, "training domains", chosen), ...row(title, "held-out domain", chosen)];
      });
    return rows.length > 0 ? [{ title: datasetTitle(dataset), rows }] : [];
  });
}

function row(title: string, of: FeaturesOf, chosen: readonly ChosenRecords[]): FeatureRow[] {
  const names = Object.keys(FEATURE_COLUMNS) as FeatureMeasure[];
  const values = Object.fromEntries(names.map((name) => [name, meanMeasure(chosen, name, of)]));
  if (Object.values(values).includes(null)) return [];
  const headNorm = meanMeasure(chosen, "headNorm", "training domains"); // its record has no domain either
  return [{ title, of, values: values as Record<FeatureMeasure, number>, headNorm, runs: chosen.length }];
}
