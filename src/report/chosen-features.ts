/** What runs recorded about their features at the selected step, averaged over some of them. */

import { CURRENT, type RunRecord } from "../records/index.js";
import type { GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
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

export type FeatureMeasure = keyof typeof FEATURE_COLUMNS;

/** Whether the features are those of all training domains in one matrix, or of the held-out one. */
export type FeaturesOf = "training domains" | "held-out domain";

/** What a selected run recorded at the selected step. */
export interface ChosenRecords {
  readonly testDomain: string;
  readonly records: readonly RunRecord[];
}

/** Reads them once, because the records of a run are parsed at each access. */
export function chosenRecords(outcome: Outcome, { choice, testDomain }: GroupResult): ChosenRecords {
  const records = outcome.storedOf(choice.run)?.records ?? [];
  return { testDomain, records: records.filter(({ step, model }) => step === choice.step && model === CURRENT) };
}

/** The mean of a measure over selected runs; null if one of them did not record it. */
export function meanMeasure(chosen: readonly ChosenRecords[], metric: string, of: FeaturesOf): number | null {
  const value = mean(
    chosen.map(({ testDomain, records }) => {
      const domain = of === "training domains" ? null : testDomain;
      return records.find((each) => each.metric === metric && each.domain === domain)?.value ?? Number.NaN;
    }),
  );
  return Number.isFinite(value) ? value : null;
}
