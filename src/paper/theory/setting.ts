/**
 * The setting of Section 4: r invariant features out of d, correlation γ, weight λ, rank bound; defaults and their
 * limits.
 */

import { UsageError } from "../../errors.js";
import { compare, parseDecimal, type Rational, rational, smallestDimension } from "./decimal.js";

/** The options. All of them have defaults. */
export interface TheoryOptions {
  /** The number of invariant features. The default is 64. */
  r?: number;
  /** The spurious correlation, 0 < γ ≤ ½. Text is parsed as an exact decimal. The default is 0.4. */
  gamma?: number | string;
  /** The number of features. The default is the smallest one that the Proposition allows, ⌊r/γ²⌋ + r + 1. */
  d?: number;
  /** The weight of the penalties. The default is λ₀, the smallest one that the terms of the proof allow. */
  lambda?: number;
  /** The maximum number of features that ERM-rank may use. The default is r. */
  bRank?: number;
  /** The seed of all sampling. The default is 0. */
  seed?: number;
  /** The draws of each sampled check. The default is 30 million divided by the number of features, at most 100 000. */
  samples?: number;
}

/** A setting with all options resolved. */
export interface Setting {
  readonly r: number;
  readonly d: number;
  readonly gamma: number;
  /** γ as entered. */
  readonly exactGamma: Rational;
  readonly lambda: number;
  /** The default λ, from which on the proof of α < 1/√r works. */
  readonly lambda0: number;
  /** The Proposition's Ω(√r / exp(√r/5)) with the constant 1. */
  readonly lambdaStated: number;
  readonly bRank: number;
  readonly seed: number;
  readonly samples: number;
}

/** The maximum number of features, because every sampled check draws each of them. */
export const MOST_FEATURES = 1_000_000;
const SAMPLE_BUDGET = 30_000_000;

/**
 * Fills in defaults and rejects invalid settings. Settings that only violate the Proposition's conditions are accepted.
 */
export function resolveSetting(options: TheoryOptions = {}): Setting {
  const r = positiveInteger("r", options.r ?? 64);
  const exactGamma = parseDecimal(options.gamma ?? "0.4", "gamma");
  if (compare(exactGamma, rational(0)) <= 0 || compare(exactGamma, rational(1, 2)) > 0) {
    throw new UsageError(`gamma: D_γ needs 0 < γ ≤ 0.5, got ${options.gamma}`);
  }
  const gamma = Number(exactGamma.numerator) / Number(exactGamma.denominator);
  const smallest = smallestDimension(r, exactGamma);
  if (options.d === undefined && smallest > BigInt(MOST_FEATURES)) {
    throw new UsageError(
      `d: r = ${r} and γ = ${options.gamma} make it ${smallest} by default, more than ${MOST_FEATURES}: give a smaller d, a smaller r or a larger gamma`,
    );
  }
  const d = positiveInteger("d", options.d ?? Number(smallest));
  if (d <= r) throw new UsageError(`d: expected more than the r = ${r} invariant features, got ${d}`);
  if (d > MOST_FEATURES) throw new UsageError(`d: at most ${MOST_FEATURES} features, got ${d}`);
  const bRank = positiveInteger("b-rank", options.bRank ?? r);
  if (bRank > d) throw new UsageError(`b-rank: at most the d = ${d} features there are, got ${bRank}`);
  const lambda0 = smallestLambda({ r, d, gamma });
  const lambda = options.lambda ?? lambda0;
  if (!(lambda > 0) || !Number.isFinite(lambda))
    throw new UsageError(`lambda: expected a positive number, got ${lambda}`);
  const defaultSamples = Math.min(100_000, Math.max(400, Math.floor(SAMPLE_BUDGET / d)));
  const seed = options.seed ?? 0;
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw new UsageError(`seed: expected an integer of at least 0, got ${seed}`);
  const samples = positiveInteger("samples", options.samples ?? defaultSamples);
  const lambdaStated = Math.sqrt(r) / Math.exp(Math.sqrt(r) / 5);
  return { r, d, gamma, exactGamma, lambda, lambda0, lambdaStated, bRank, seed, samples };
}

function positiveInteger(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1)
    throw new UsageError(`${name}: expected an integer of at least 1, got ${value}`);
  return value;
}

/**
 * The right-hand side of λα ≤ … in the proof of α < 1/√r (Appendix, Lemma 1 (3)): 1/(2(1 + e^{α(r−1)/4})) +
 * ¼e^{−(r−1)/8} + ½e^{−(d−r)γ²/2}.
 */
export function alphaBound({ r, d, gamma }: { r: number; d: number; gamma: number }, alpha: number): number {
  return (
    1 / (2 * (1 + Math.exp((alpha * (r - 1)) / 4))) +
    Math.exp(-(r - 1) / 8) / 4 +
    Math.exp((-(d - r) * gamma * gamma) / 2) / 2
  );
}

/** λ₀: from here on λ/√r is at least that right-hand side at α = 1/√r, so that α ≥ 1/√r is a contradiction. */
export function smallestLambda(model: { r: number; d: number; gamma: number }): number {
  return Math.sqrt(model.r) * alphaBound(model, 1 / Math.sqrt(model.r));
}
