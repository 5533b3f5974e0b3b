/**
 * Which pictures are marked as unknown: those that are farther from the training domains, or that the model is less
 * certain about, than almost all correctly classified pictures of held-out domains (of validation, if none was held out).
 * One number sets both limits: the share of these pictures that each limit may mark.
 */

import { UsageError } from "../errors.js";
import type { ModelAbout } from "./about.js";

/** Why a picture is marked: it is far from training, or its probability is low. */
export type Unknown = "far" | "uncertain";

/** The limits; null if the model file lacks the necessary data. */
export interface UnknownRule {
  /** A picture with a distance percentile above this is far. */
  readonly distance: number | null;
  /** A picture with a probability below this is uncertain. */
  readonly probability: number | null;
}

/**
 * The share of known pictures that each limit marks by default. With a probe on ten classes of Office-31's amazon and
 * dslr it marked 2.6 % of webcam's pictures and 50 % of those of 21 other classes; trained on dslr alone, 40 % of
 * amazon's and 87 % of those of other classes, and the accuracy on the remaining pictures of amazon was 98.8 % instead
 * of 83.4.
 */
export const UNKNOWN_SHARE = 0.02;

/** The limits of a model for a share; 0 marks nothing. */
export function unknownRule({ distance, calibration }: ModelAbout, share = UNKNOWN_SHARE): UnknownRule {
  if (!(share >= 0 && share < 1))
    throw new UsageError(`--unknown: expected a fraction of at least 0 and below 1, such as 0.02, got ${share}`);
  if (share === 0) return { distance: null, probability: null };
  return {
    distance: distance ? farLimit(calibration?.heldOut?.percentiles ?? [], share) : null,
    probability: calibration && calibration.quantiles.length > 0 ? quantileAt(calibration.quantiles, share) : null,
  };
}

/** On a new domain almost all pictures exceed the distances of validation pictures, so held-out domains set the limit, if there are any. */
function farLimit(percentiles: readonly number[], share: number): number | null {
  if (percentiles.length === 0) return 100 * (1 - share);
  const limit = quantileAt(percentiles, 1 - share);
  return limit < 100 ? limit : null; // no percentile is above 100
}

/** Why a picture is marked; null if it is not. */
export function unknownOf(
  {
    probability,
    distance,
  }: { readonly probability: number; readonly distance: { readonly percentile: number } | null },
  rule: UnknownRule,
): Unknown | null {
  if (distance && rule.distance !== null && distance.percentile > rule.distance) return "far";
  return rule.probability !== null && probability < rule.probability ? "uncertain" : null;
}

/** Linear interpolation between evenly spaced quantiles, from minimum to maximum. */
export function quantileAt(quantiles: readonly number[], share: number): number {
  const at = share * (quantiles.length - 1);
  const below = Math.floor(at);
  const above = quantiles[Math.min(below + 1, quantiles.length - 1)];
  return quantiles[below] + (at - below) * (above - quantiles[below]);
}
