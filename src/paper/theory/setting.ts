/** The setting of Section 4: r invariant features of d, correlation γ, weight λ, rank bound; defaults and their limits. */

import { UsageError } from "../../errors.js";
import { compare, parseDecimal, type Rational, rational, smallestDimension } from "./decimal.js";

/** What a caller may say; all else has a default. */
export interface TheoryOptions {
  /** Number of invariant features; 64. */
  r?: number;
  /** Spurious correlation, 0 < γ ≤ ½; text is read as the decimal it is; 0.4. */
  gamma?: number | string;
  /** Number of features; the smallest the Proposition allows, ⌊r/γ²⌋ + r + 1. */
  d?: number;
  /** Weight of the penalties; λ₀, the smallest that the proof's own terms allow. */
  lambda?: number;
  /** Bound on the number of features used by ERM-rank; r. */
  bRank?: number;
  /** Seed of everything that is sampled; 0. */
  seed?: number;
  /** Draws of each sampled check; 30 million features' worth, at most 100 000. */
  samples?: number;
}

/** A setting with nothing left open. */
export interface Setting {
  readonly r: number;
  readonly d: number;
  readonly gamma: number;
  /** γ as typed. */
  readonly exactGamma: Rational;
  readonly lambda: number;
  /** The default λ: where the proof of α < 1/√r first works. */
  readonly lambda0: number;
  /** The Proposition's Ω(√r / exp(√r/5)) with the constant 1. */
  readonly lambdaStated: number;
  readonly bRank: number;
  readonly seed: number;
  readonly samples: number;
}

/** More features than this are refused: every sampled check draws each of them. */
export const MOST_FEATURES = 1_000_000;
const SAMPLE_BUDGET = 30_000_000;

/** Fills in defaults and refuses what makes no sense; what only leaves the Proposition's conditions is let through. */
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
 * The right-hand side of λα ≤ … in the proof of α < 1/√r (Appendix, Lemma 1 (3)):
 * 1/(2(1 + e^{α(r−1)/4})) + ¼e^{−(r−1)/8} + ½e^{−(d−r)γ²/2}.
 */
export function alphaBound({ r, d, gamma }: { r: number; d: number; gamma: number }, alpha: number): number {
  return (
    1 / (2 * (1 + Math.exp((alpha * (r - 1)) / 4))) +
    Math.exp(-(r - 1) / 8) / 4 +
    Math.exp((-(d - r) * gamma * gamma) / 2) / 2
  );
}

/** λ₀: from here on λ/√r is at least that right-hand side at α = 1/√r, so that α ≥ 1/√r is contradictory. */
export function smallestLambda(model: { r: number; d: number; gamma: number }): number {
  return Math.sqrt(model.r) * alphaBound(model, 1 / Math.sqrt(model.r));
}
