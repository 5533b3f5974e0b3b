/**
 * How many directions a feature matrix uses: its singular values and the numbers made from them.
 *
 * - `stableRank`: ‖F‖_F²/‖F‖₂² (paper, Section 3.3). As the paper defines it the features are not centred; real features have
 *   a large mean, whose one direction then outweighs the rest and holds the number near 1. Centred, it counts directions
 *   in which samples differ.
 * - `effectiveRank`: exp of the entropy of σ/Σσ (Roy and Vetterli, "The effective rank", EUSIPCO 2007).
 *
 * A zero matrix has rank 0 in every sense.
 */

import type { Nested } from "../engine/arrays.js";
import { linalgSvdvals } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { noGrad, Tensor, tensor } from "../engine/tensor.js";
import { EngineError, UsageError } from "../errors.js";
import { gramMatrix } from "../regularizers/gram-matrix.js";

/** A feature matrix with one row per sample. */
export type FeatureMatrix = Tensor | readonly (readonly number[])[];

export interface SpectrumOptions {
  /** Subtract the mean over the rows first. */
  centred?: boolean;
}

/**
 * The singular values in descending order. Above 2²⁰ elements they are computed from the Gram matrix, which takes a
 * tenth of the time and resolves them down to 1e-8 of the largest.
 */
export function spectrum(features: FeatureMatrix, { centred = false }: SpectrumOptions = {}): number[] {
  if (Array.isArray(features) && features.length === 0) return [];
  return scope(() =>
    noGrad(() => {
      const given = features instanceof Tensor ? features : tensor(features as Nested, { dtype: "float64" });
      if (given.shape.length !== 2) {
        throw new UsageError(`spectrum: expected a matrix [samples, width], got ${given.describe()}`);
      }
      if (given.numel === 0) return [];
      // Small matrices are decomposed on the CPU, because a GPU takes longer, especially while it trains other runs.
      const device = given.numel <= LARGEST_FOR_SVD ? "cpu" : given.device;
      const exact = given.to({ dtype: "float64", device });
      const size = exact.norm().item();
      if (!Number.isFinite(size)) {
        throw new EngineError(
          `spectrum: expected finite features, got NaN or Inf in them (${given.describe()})`,
          "spectrum",
          [given.describe()],
        );
      }
      const sigmas = singularValues(centred ? exact.sub(exact.mean(0, true)) : exact);
      // Rounding errors of zero, for example if all rows are equal and the mean is subtracted, are not directions.
      const rounding = Math.max(...given.shape) * Number.EPSILON * size;
      return sigmas.map((sigma) => (sigma > rounding ? sigma : 0));
    }),
  );
}

function singularValues(matrix: Tensor): number[] {
  if (matrix.numel <= LARGEST_FOR_SVD) return linalgSvdvals(matrix).toNumbers();
  const squares = gramMatrix(matrix).linalgEigvalsh().toNumbers(); // ascending
  return squares.map((square) => Math.sqrt(Math.max(0, square))).reverse();
}

const LARGEST_FOR_SVD = 2 ** 20;

/** ‖F‖_F²/‖F‖₂²: between 1 and the rank. */
export function stableRank(features: FeatureMatrix, options?: SpectrumOptions): number {
  return stableRankOf(spectrum(features, options));
}

/** exp of the entropy of σ/Σσ: between 1 and the rank. */
export function effectiveRank(features: FeatureMatrix, options?: SpectrumOptions): number {
  return effectiveRankOf(spectrum(features, options));
}

/** The logged measures of features, which distinguish smaller features from fewer directions. */
export interface RankMeasures {
  samples: number;
  width: number;
  /** ‖F‖_* = Σσ. */
  nuclearNorm: number;
  /** ‖F‖_F = √Σσ². */
  frobeniusNorm: number;
  /** ‖F‖_* / ‖F‖_F: between 1 and √rank, and independent of scale. */
  normRatio: number;
  /** As in the paper: not centered. */
  stableRank: number;
  centredStableRank: number;
  effectiveRank: number;
  centredEffectiveRank: number;
}

/** All measures, from the spectrum of the features, which may be given, and the centered spectrum. */
export function rankMeasures(features: FeatureMatrix, plain: readonly number[] = spectrum(features)): RankMeasures {
  const [samples, width] =
    features instanceof Tensor ? features.shape : [features.length, features.length === 0 ? 0 : features[0].length];
  const centred = spectrum(features, { centred: true });
  const nuclearNorm = plain.reduce((sum, sigma) => sum + sigma, 0);
  const frobeniusNorm = Math.hypot(...plain);
  return {
    samples,
    width,
    nuclearNorm,
    frobeniusNorm,
    normRatio: frobeniusNorm > 0 ? nuclearNorm / frobeniusNorm : 0,
    stableRank: stableRankOf(plain),
    centredStableRank: stableRankOf(centred),
    effectiveRank: effectiveRankOf(plain),
    centredEffectiveRank: effectiveRankOf(centred),
  };
}

/** Relative to σ₁, so that squares neither overflow nor underflow. */
function stableRankOf(sigmas: readonly number[]): number {
  const largest = sigmas[0] ?? 0;
  return largest > 0 ? sigmas.reduce((sum, sigma) => sum + (sigma / largest) ** 2, 0) : 0;
}

function effectiveRankOf(sigmas: readonly number[]): number {
  const total = sigmas.reduce((sum, sigma) => sum + sigma, 0);
  if (!(total > 0)) return 0;
  const entropy = sigmas.reduce((sum, sigma) => {
    const share = sigma / total;
    return share > 0 ? sum - share * Math.log(share) : sum;
  }, 0);
  return Math.exp(entropy);
}
