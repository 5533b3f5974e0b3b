/**
 * The features of each method: norms and ranks at the selected step, as the runs recorded them, averaged over held-out
 * domains and trials. Scale and rank are shown together: if the classifier is not penalised, smaller features and a
 * larger classifier reduce the penalty at no cost.
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
  /** The Frobenius norm of the classifier's weights; null if it was not recorded. */
  readonly headNorm: number | null;
  readonly runs: number;
}

export interface FeatureTable {
  readonly title: string;
  readonly rows: readonly FeatureRow[];
}

export const featureWords =
  "Measured at the selected step on up to 96 validation pictures of all training domains together, and on as many of the held-out domain; the mean over held-out domains and trials. Ranks are those of the matrix itself, and of the centred matrix (with its mean row subtracted).";

/** One table per dataset whose runs recorded their features. Averaged weights are not measured. */
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
  const headNorm = meanMeasure(chosen, "headNorm", "training domains"); // its record has no domain
  return [{ title, of, values: values as Record<FeatureMeasure, number>, headNorm, runs: chosen.length }];
}
