/**
 * What the confidence of a model is worth on a new domain, from its predictions on held-out domains. The temperature that
 * fits validation pictures is too small for a new domain, and the one that fits held-out domains can be too large for
 * another. So it is used only if it helps held-out domains themselves: each is measured with the temperature that fits the
 * others, and the calibration error must be smaller than with T = 1.
 */

import { calibration } from "../analysis/calibration.js";
import { isRight, type Judged, type JudgedLogits, judge, softmax } from "../analysis/judged.js";
import { type SiteEvidence, siteEvidence } from "../analysis/site-accuracy.js";
import { fitTemperature } from "../analysis/temperature.js";
import { evenlyChosen } from "../data/evenly-chosen.js";
import type { CalibrationFacts } from "../model/about.js";
import { quantileAt } from "../model/unknown.js";

/** The predictions for a fold of held-out domains. */
type Fold = readonly JudgedLogits[];

export interface HeldOutConfidence extends SiteEvidence {
  /** The temperature of the model: 1, or that of the held-out domains. */
  readonly temperature: number;
  readonly fitted: number;
  /** The mean calibration error on held-out domains with T = 1, and with the temperature that fits the other folds; null with a single fold. */
  readonly errorAtOne: number;
  readonly errorAtFitted: number | null;
  /** For each fold, the temperature that was chosen without it. */
  readonly nested: readonly number[];
  readonly count: number;
  /** Quantiles of the confidence of correct predictions on held-out domains. */
  readonly quantiles: readonly number[];
}

const QUANTILES = 101;
/** The fitted temperature gives each fold the same weight, so at most this many pictures of each are used. */
const MOST_FITTED = 1000;

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

function quantilesOf(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return Array.from({ length: sorted.length > 0 ? QUANTILES : 0 }, (_, i) => quantileAt(sorted, i / (QUANTILES - 1)));
}

const again = (fold: Fold, temperature: number): Judged[] => fold.map((each) => judge(each.logits, each, temperature));

function fitted(folds: readonly Fold[]): number {
  const least = Math.min(MOST_FITTED, ...folds.map(({ length }) => length));
  const few = folds.flatMap((fold) => evenlyChosen(fold, least));
  return fitTemperature(
    few.map(({ logits }) => logits),
    few.map(({ label }) => label),
  );
}

/** Chooses the temperature. `byDomains` is false if the folds are validation pictures, whose temperature is too small. */
export function heldOutConfidence(folds: readonly Fold[], byDomains = true): HeldOutConfidence {
  const error = (judged: readonly Judged[]): number => calibration(judged).ece;
  const without = folds.length > 1 ? folds.map((_, held) => fitted(folds.filter((_, i) => i !== held))) : [];
  const errorAtOne = mean(folds.map((fold) => error(again(fold, 1))));
  const errorAtFitted = without.length > 0 ? mean(folds.map((fold, i) => error(again(fold, without[i])))) : null;
  const usesFitted = byDomains && errorAtFitted !== null && errorAtFitted < errorAtOne;
  const whole = fitted(folds);
  const nested = folds.map((_, i) => (usesFitted ? without[i] : 1));
  const sure = folds.flatMap((fold, i) => again(fold, nested[i])).filter(isRight);
  return {
    ...{ temperature: usesFitted ? whole : 1, fitted: whole, errorAtOne, errorAtFitted, nested },
    count: folds.reduce((sum, { length }) => sum + length, 0),
    quantiles: quantilesOf(sure.map(({ confidence }) => confidence)),
    ...siteEvidence(
      folds.map((fold) => ({
        confidences: fold.map(({ logits }) => Math.max(...softmax(logits))),
        right: fold.map(isRight),
      })),
    ),
  };
}

/** The part for the model file. */
export const calibrationFacts = (
  { temperature, count, quantiles, thresholds, errors, errorAtOne, errorAtFitted }: HeldOutConfidence,
  domains: readonly string[],
  percentiles: readonly number[],
): CalibrationFacts => ({
  ...{ temperature, count, quantiles },
  heldOut: {
    ...{ domains, thresholds, errors, percentiles: quantilesOf(percentiles) },
    calibrationError: temperature === 1 || errorAtFitted === null ? errorAtOne : errorAtFitted,
  },
});
