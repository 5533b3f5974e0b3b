/**
 * The calibration of a model: is it correct for 80 % of the pictures with a confidence of 80 %?
 *
 *     ECE = Σ_b (n_b/n)·|accuracy_b − confidence_b|
 *
 * over bins of equal width of the confidence in the predicted class (Guo et al., "On Calibration of Modern Neural
 * Networks", ICML 2017). The estimate is biased upwards if bins have few pictures, so the counts are included.
 */

import { UsageError } from "../errors.js";
import { isRight, type Judged } from "./judged.js";

/** Pictures with similar confidence. */
export interface ReliabilityBin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** The mean confidence and the accuracy of its pictures; NaN if it is empty. */
  readonly confidence: number;
  readonly accuracy: number;
}

export interface Calibration {
  /** Expected calibration error, a fraction. */
  readonly ece: number;
  /** The largest gap among bins that have pictures. */
  readonly worst: number;
  /** Mean confidence minus accuracy; positive if the model is overconfident. */
  readonly overconfidence: number;
  /** The reliability diagram, from confidence 0 to 1. */
  readonly bins: readonly ReliabilityBin[];
}

/** The calibration of judged pictures, with fifteen bins as in the paper. */
export function calibration(pictures: readonly Judged[], { bins: count = 15 } = {}): Calibration {
  if (!Number.isInteger(count) || count < 1)
    throw new UsageError(`calibration: expected an integer number of bins of at least 1, got ${count}`);
  const held = Array.from({ length: count }, () => ({ count: 0, right: 0, confidence: 0 }));
  for (const picture of pictures) {
    // (from, to], as in the paper; a confidence of exactly 1 is in the last.
    const bin = held[Math.min(count - 1, Math.max(0, Math.ceil(picture.confidence * count) - 1))];
    bin.count++;
    bin.right += Number(isRight(picture));
    bin.confidence += picture.confidence;
  }
  const bins = held.map(
    (bin, i): ReliabilityBin => ({
      ...{ from: i / count, to: (i + 1) / count, count: bin.count },
      ...{ confidence: bin.confidence / bin.count, accuracy: bin.right / bin.count },
    }),
  );
  const filled = bins.filter((bin) => bin.count > 0);
  const gap = ({ accuracy, confidence }: ReliabilityBin): number => Math.abs(accuracy - confidence);
  const total = (value: (bin: (typeof held)[number]) => number): number =>
    held.reduce((sum, bin) => sum + value(bin), 0) / pictures.length;
  return {
    ece: filled.reduce((sum, bin) => sum + (bin.count / pictures.length) * gap(bin), 0),
    worst: Math.max(0, ...filled.map(gap)),
    overconfidence: total(({ confidence }) => confidence) - total(({ right }) => right),
    bins,
  };
}
