/**
 * Section 4 and its appendix for one setting: the solutions of the three objectives, their accuracy in and out of
 * domain, and every statement as a checked line. This is pure arithmetic and does not load the engine.
 */

import { type L2Solution, solveL2, type TwoWeights, twoGroups } from "./erm-l2.js";
import { lossAlongRay, type RankSolution, solveRank } from "./erm-rank.js";
import { type DescentResult, descend } from "./gradient-descent.js";
import { type NuclearSolution, type Support, solveNuclear } from "./nuclear.js";
import { type PromiseLimits, promiseLimits } from "./nuclear-limits.js";
import { type PlainSample, samplePlain, sampleTilted, type TiltedSample } from "./sampling.js";
import { resolveSetting, type Setting, type TheoryOptions } from "./setting.js";
import { checkAuxiliary } from "./statements/auxiliary.js";
import type { Check, Condition, Verdict } from "./statements/check.js";
import { checkConditions, testConditions } from "./statements/conditions.js";
import { checkLemma1 } from "./statements/lemma-1.js";
import { checkLemma2 } from "./statements/lemma-2.js";
import { checkProposition } from "./statements/proposition.js";
import { type Probability, upperTail } from "./tail.js";

/** The accuracy P[y f_w(x) ≥ 0]; null for w = 0, which makes no prediction. */
export interface Accuracy {
  readonly accuracy: number | null;
  readonly log10Accuracy: number | null;
  /** The base-ten logarithm of 1 − accuracy; null if there is no error. */
  readonly log10Error: number | null;
}

/** The solution of an objective and its accuracy. */
export interface RuleResult extends TwoWeights {
  readonly title: string;
  readonly objective: string;
  /** The number of features of each kind with a nonzero weight. */
  readonly support: { readonly invariant: number; readonly spurious: number };
  readonly loss: number;
  readonly value: number;
  readonly inDomain: Accuracy;
  readonly outOfDomain: Accuracy;
  readonly sampled: { readonly plain: PlainSample | null; readonly tilted: TiltedSample | null };
}

/** The out-of-domain accuracy of ERM-ℓ2 and the nuclear norm at another λ. */
export interface LambdaPoint {
  readonly lambda: number;
  readonly l2: { readonly ratio: number; readonly outOfDomain: Accuracy };
  readonly nuclear: { readonly support: Support; readonly outOfDomain: Accuracy };
}

/** All results of `nudge theory` for a setting. */
export interface TheoryResult {
  readonly setting: Setting;
  readonly conditions: readonly Condition[];
  readonly outcomes: { readonly l2: RuleResult; readonly rank: RuleResult; readonly nuclear: RuleResult };
  readonly l2: L2Solution;
  readonly rank: RankSolution & { readonly ray: readonly { readonly scale: number; readonly loss: number }[] };
  readonly nuclear: NuclearSolution & { readonly limits: PromiseLimits };
  readonly descent: DescentResult;
  readonly lambdaPath: readonly LambdaPoint[];
  readonly checks: readonly Check[];
  readonly counts: Readonly<Record<Verdict, number>>;
}

/** Multiples of λ for the path. */
const PATH = [1e-6, 1e-4, 1e-2, 1e-1, 1, 10];

/** Evaluates Section 4 for a setting. */
export function runTheory(options: TheoryOptions = {}): TheoryResult {
  const setting = resolveSetting(options);
  const { r, d, gamma, lambda } = setting;
  const counts = { invariant: r, spurious: d - r };
  const l2 = solveL2({ ...counts, gamma, lambda });
  const rank = solveRank(setting);
  const nuclear = solveNuclear(setting);
  const descent = descend(setting);
  const conditions = testConditions(setting);
  const checks = [
    ...checkConditions(),
    ...checkAuxiliary(setting, l2),
    ...checkLemma1({ setting, conditions, optimum: l2, descent }),
    ...checkLemma2(setting, conditions, rank),
    ...checkProposition({ setting, conditions, l2, rank }),
  ];
  return {
    setting,
    conditions: Object.values(conditions),
    outcomes: {
      l2: outcome(setting, "ERM-ℓ2", "E ℓ + λ/2 ‖w‖²", counts, l2),
      rank: outcome(setting, "ERM-rank", "E ℓ + λ/2 ‖w‖², ‖w‖₀ ≤ B_rank", rank, rank),
      nuclear: outcome(setting, "nuclear norm", "E ℓ + λ ‖C^{1/2} diag(w)‖_*", counts, nuclear),
    },
    l2,
    rank: { ...rank, ray: lossAlongRay(setting.bRank, [1, 10, 100, 1000]) },
    nuclear: { ...nuclear, limits: promiseLimits(setting) },
    descent,
    lambdaPath: PATH.map((factor) => lambdaPoint(setting, factor * lambda)),
    checks,
    counts: countVerdicts(checks),
  };
}

type Counts = { invariant: number; spurious: number };
type Solved = TwoWeights & { value: number; loss: number };

function outcome(setting: Setting, title: string, objective: string, counts: Counts, solution: Solved): RuleResult {
  const { gamma, samples, seed } = setting;
  const { alpha, beta, loss, value } = solution;
  const nothing = alpha === 0 && beta === 0;
  const outside = twoGroups(counts, solution, -gamma);
  return {
    title,
    objective,
    alpha,
    beta,
    support: { invariant: alpha === 0 ? 0 : counts.invariant, spurious: beta === 0 ? 0 : counts.spurious },
    loss,
    value,
    inDomain: accuracyOf(counts, solution, gamma),
    outOfDomain: accuracyOf(counts, solution, -gamma),
    sampled: {
      plain: nothing ? null : samplePlain(outside, samples, seed, title),
      tilted: nothing ? null : sampleTilted(outside, samples, seed, title),
    },
  };
}

/** Returns the accuracy of two weights on D_γ (in domain) or D_{−γ} (out of domain). */
export function accuracyOf(counts: Counts, weights: TwoWeights, gamma: number): Accuracy {
  if (weights.alpha === 0 && weights.beta === 0) return { accuracy: null, log10Accuracy: null, log10Error: null };
  const { value, log10, log10Complement }: Probability = upperTail(twoGroups(counts, weights, gamma));
  return {
    accuracy: value,
    log10Accuracy: Number.isFinite(log10) ? log10 : null,
    log10Error: Number.isFinite(log10Complement) ? log10Complement : null,
  };
}

function lambdaPoint({ r, d, gamma }: Setting, lambda: number): LambdaPoint {
  const counts = { invariant: r, spurious: d - r };
  const l2 = solveL2({ ...counts, gamma, lambda });
  const nuclear = solveNuclear({ r, d, gamma, lambda });
  return {
    lambda,
    l2: { ratio: l2.alpha / l2.beta, outOfDomain: accuracyOf(counts, l2, -gamma) },
    nuclear: { support: nuclear.support, outOfDomain: accuracyOf(counts, nuclear, -gamma) },
  };
}

function countVerdicts(checks: readonly Check[]): Record<Verdict, number> {
  const counts = { holds: 0, fails: 0, outside: 0 };
  for (const { verdict } of checks) counts[verdict]++;
  return counts;
}
