/**
 * Estimates P[S ≥ 0] by sampling: plain sampling with a standard error or (without hits) an upper bound, and importance
 * sampling from the exponentially tilted distribution, whose relative standard error stays small for probabilities that
 * plain sampling never hits.
 */

import { complex } from "./complex.js";
import { type Group, logMarginMgf, marginRange, tiltedMarginMean } from "./distributions.js";
import { type Draw, drawFeature, draws, tiltedFeature } from "./draws.js";
import { saddle } from "./tail.js";

/** The result of plain sampling. */
export interface PlainSample {
  readonly samples: number;
  readonly hits: number;
  readonly estimate: number;
  /** √(p̂(1 − p̂)/n); null if there were no hits or only hits. */
  readonly standardError: number | null;
  /** The one-sided 95 % (Clopper–Pearson) upper bound if there was no hit: 1 − 0.05^{1/n}, about 3/n. */
  readonly upperBound: number | null;
  /** The corresponding lower bound if every draw was a hit. */
  readonly lowerBound: number | null;
}

/** The result of importance sampling with the tilt whose mean is zero. */
export interface TiltedSample {
  readonly samples: number;
  readonly tilt: number;
  readonly log10: number;
  /** The standard error relative to the estimate. */
  readonly relativeStandardError: number;
}

/** Draws the margin of each group and counts S ≥ 0. */
export function samplePlain(groups: readonly Group[], samples: number, seed: number, purpose: string): PlainSample {
  const draw = draws(seed, `${purpose}/plain`);
  let hits = 0;
  for (let i = 0; i < samples; i++) if (drawMargin(groups, draw) >= 0) hits++;
  const estimate = hits / samples;
  const bound = 1 - 0.05 ** (1 / samples);
  return {
    samples,
    hits,
    estimate,
    standardError: hits === 0 || hits === samples ? null : Math.sqrt((estimate * (1 - estimate)) / samples),
    upperBound: hits === 0 ? bound : null,
    lowerBound: hits === samples ? 1 - bound : null,
  };
}

function drawMargin(groups: readonly Group[], draw: Draw): number {
  let sum = 0;
  for (const { gamma, weight, count } of groups) {
    if (weight === 0) continue;
    let part = 0;
    for (let j = 0; j < count; j++) part += drawFeature(gamma, draw);
    sum += weight * part;
  }
  return sum;
}

/**
 * Importance sampling of P[S ≥ 0]. Returns null if the mean is not negative (no rare event) or the event is impossible.
 */
export function sampleTilted(
  groups: readonly Group[],
  samples: number,
  seed: number,
  purpose: string,
): TiltedSample | null {
  const active = groups.filter(({ count, weight }) => count > 0 && weight !== 0);
  if (tiltedMarginMean(active, 0) >= 0 || marginRange(active).high <= 0) return null;
  const tilt = saddle(active, 0);
  const draw = draws(seed, `${purpose}/tilted`);
  const parts = active.map(({ gamma, weight, count }) => ({
    weight,
    count,
    feature: tiltedFeature(gamma, tilt * weight, draw),
  }));
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < samples; i++) {
    let s = 0;
    for (const { weight, count, feature } of parts) {
      let part = 0;
      for (let j = 0; j < count; j++) part += feature();
      s += weight * part;
    }
    if (s >= 0) {
      const value = Math.exp(-tilt * s);
      sum += value;
      squares += value * value;
    }
  }
  const average = sum / samples;
  const spread = Math.sqrt(Math.max(0, squares / samples - average * average) / samples);
  const log = logMarginMgf(active, complex(tilt)).re + Math.log(average);
  return { samples, tilt, log10: log / Math.LN10, relativeStandardError: spread / average };
}
