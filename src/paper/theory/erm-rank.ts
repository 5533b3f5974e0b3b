/**
 * ERM-rank (Section 4): min_w E ℓ(y f_w(x)) subject to ‖w‖₀ ≤ B_rank.
 *
 * As stated, it has no minimizer: on the invariant features every margin is positive, so the loss decreases towards 0
 * as w grows but never reaches it. With λ/2‖w‖² added it has one, and its support is what Lemma 2 claims. By symmetry
 * only the numbers (a, b) of invariant and spurious features matter, and a larger support is never worse. It is
 * therefore sufficient to try all pairs with a + b = B_rank, which are at most B_rank + 1 problems, each solved
 * exactly.
 */

import { INVARIANT } from "./distributions.js";
import { type L2Solution, solveL2, type TwoWeights } from "./erm-l2.js";
import { expectation } from "./expectation.js";

/** The model, the weight of the norm term and the bound. */
export interface RankProblem {
  readonly r: number;
  readonly d: number;
  readonly gamma: number;
  readonly lambda: number;
  readonly bRank: number;
}

/** A support, given by its numbers of features, and the best objective on it. */
export interface RankCandidate {
  readonly invariant: number;
  readonly spurious: number;
  readonly value: number;
}

/** The best support and weights, and all candidates. */
export interface RankSolution extends TwoWeights {
  readonly invariant: number;
  readonly spurious: number;
  readonly value: number;
  readonly loss: number;
  /** The candidates in order of the number of spurious features. */
  readonly candidates: readonly RankCandidate[];
  /** Whether every split of B_rank was tried, or only a selection. */
  readonly exhaustive: boolean;
}

/** The maximum number of splits to try. If there are more, a selection of this size is tried. */
const MOST_SPLITS = 129;

/** Tries every support and returns the best. */
export function solveRank({ r, d, gamma, lambda, bRank }: RankProblem): RankSolution {
  const fewest = Math.max(0, bRank - r);
  const most = Math.min(bRank, d - r);
  const all = most - fewest + 1;
  const tried = Math.min(all, MOST_SPLITS);
  const splits = Array.from({ length: tried }, (_, i) =>
    // If not all splits are tried, use a quadratic grid, which is dense where the minimum is claimed to be.
    all === tried ? fewest + i : Math.max(fewest + i, fewest + Math.round((all - 1) * (i / (tried - 1)) ** 2)),
  );
  let best: (L2Solution & RankCandidate) | undefined;
  const candidates = splits.map((spurious): RankCandidate => {
    const solution = solveL2({ invariant: bRank - spurious, spurious, gamma, lambda });
    const candidate = { invariant: bRank - spurious, spurious, value: solution.value };
    if (best === undefined || candidate.value < best.value) best = { ...solution, ...candidate };
    return candidate;
  });
  const { alpha, beta, invariant, spurious, value, loss } = best!;
  return { alpha, beta, invariant, spurious, value, loss, candidates, exhaustive: all === tried };
}

/**
 * Returns E ℓ for weight t on each of `features` invariant features, for increasing t. It decreases to 0 without
 * reaching it.
 */
export function lossAlongRay(features: number, scales: readonly number[]): { scale: number; loss: number }[] {
  return scales.map((scale) => ({
    scale,
    loss: expectation("loss", [{ gamma: INVARIANT, weight: scale, count: features }]),
  }));
}
