/** Lemma 1: the form of the ERM-ℓ2 optimum, with every inequality of its proof in the appendix. */

import { type Group, INVARIANT } from "../distributions.js";
import type { L2Solution } from "../erm-l2.js";
import { expectation } from "../expectation.js";
import type { DescentResult } from "../gradient-descent.js";
import { alphaBound, type Setting } from "../setting.js";
import { type Check, type CheckInput, type Condition, checksOf } from "./check.js";
import type { Conditions } from "./conditions.js";
import { ratioChain } from "./lemma-1-ratio.js";

/** The input for checking Lemma 1. */
export interface Lemma1Input {
  readonly setting: Setting;
  readonly conditions: Conditions;
  readonly optimum: L2Solution;
  readonly descent: DescentResult;
}

/** Returns all lines of Lemma 1. */
export function checkLemma1(input: Lemma1Input): Check[] {
  return [
    ...checksOf("Lemma 1 (1)(2): one weight per group", [...symmetry(input), ...descentLines(input)]),
    ...checksOf("Lemma 1 (3)", statements(input)),
    ...checksOf("Lemma 1 (3), proof of α < 1/√r", alphaChain(input)),
    ...checksOf("Lemma 1 (3), proof of α/β < 3/(4γ)", ratioChain(input)),
  ];
}

function symmetry({ setting, optimum }: Lemma1Input): CheckInput[] {
  const { r, d, gamma, lambda } = setting;
  const { alpha, beta } = optimum;
  // The objective after moving two weights of one group apart by ±δ, minus the objective at the optimum.
  const rise = (own: Group, other: Group, delta: number) => {
    const rest = [{ ...own, count: own.count - 2 }, other];
    const moved = expectation("loss", [
      ...rest,
      { ...own, weight: own.weight + delta, count: 1 },
      { ...own, weight: own.weight - delta, count: 1 },
    ]);
    return moved - expectation("loss", [own, other]) + lambda * delta * delta;
  };
  const invariant: Group = { gamma: INVARIANT, weight: alpha, count: r };
  const spurious: Group = { gamma, weight: beta, count: d - r };
  const lines: CheckInput[] = [
    {
      id: "stationary",
      statement: "the gradient vanishes at (α, β): largest |∂L/∂w_j| over λα, all d weights",
      left: optimum.stationarity,
      relation: "≤",
      right: 1e-9,
    },
  ];
  if (r >= 2) {
    lines.push({
      id: "equal-invariant",
      statement: "(1) two invariant weights moved apart by ±α/2 raise the objective: rise",
      left: rise(invariant, spurious, alpha / 2),
      relation: ">",
      right: 0,
    });
  }
  if (d - r >= 2) {
    lines.push({
      id: "equal-spurious",
      statement: "(2) two spurious weights moved apart by ±β/2 raise the objective: rise",
      left: rise(spurious, invariant, beta / 2),
      relation: ">",
      right: 0,
    });
  }
  return lines;
}

function descentLines({ optimum, descent }: Lemma1Input): CheckInput[] {
  const settled: Condition = {
    id: "descent-settled",
    statement: "the descent has forgotten its start",
    left: descent.timeConstants,
    relation: "≥",
    right: 20,
    met: descent.converged,
  };
  return [
    { group: descent.invariant, exact: optimum.alpha, name: "α", id: "descent-invariant" },
    { group: descent.spurious, exact: optimum.beta, name: "β", id: "descent-spurious" },
  ].map(({ group, exact, name, id }) => ({
    id,
    statement: `sampled gradient descent on all weights finds ${name}: |mean weight − ${name}| within 5 standard errors`,
    left: Math.abs(group.mean - exact),
    relation: "≤" as const,
    right: 5 * group.standardError,
    needs: [settled],
    note: `${group.mean.toPrecision(6)} against ${exact.toPrecision(6)}; spread within the group ${group.spread.toExponential(1)}`,
  }));
}

function statements({ setting, conditions, optimum }: Lemma1Input): CheckInput[] {
  const { r, gamma } = setting;
  const { alpha, beta } = optimum;
  const { gammaLarge, gammaSmall, lambdaLarge } = conditions;
  return [
    { id: "beta-positive", statement: "β > 0", left: beta, relation: ">", right: 0 },
    { id: "beta-below-alpha", statement: "β < α", left: beta, relation: "<", right: alpha, needs: [gammaSmall] },
    {
      id: "alpha-below-root",
      statement: "α < 1/√r",
      left: alpha,
      relation: "<",
      right: 1 / Math.sqrt(r),
      needs: [lambdaLarge],
    },
    {
      id: "ratio-bound",
      statement: "α/β < 3/(4γ)",
      left: alpha / beta,
      relation: "<",
      right: 3 / (4 * gamma),
      needs: [gammaLarge, gammaSmall, lambdaLarge],
    },
  ];
}

function alphaChain({ setting, conditions, optimum }: Lemma1Input): CheckInput[] {
  const { r, d, gamma, lambda } = setting;
  const { alpha, beta } = optimum;
  const { lambdaLarge } = conditions;
  const spurious: Group = { gamma, weight: beta, count: d - r };
  const allButOne: Group = { gamma: INVARIANT, weight: alpha, count: r - 1 };
  const withoutOne = expectation("slope", [allButOne, spurious]);
  const invariantOnly = expectation("slope", [allButOne]);
  const spuriousTail = Math.exp((-(d - r) * gamma * gamma) / 2);
  const lossWith = expectation("loss", [{ ...allButOne, count: r }, spurious]);
  const lossFlipped = expectation("loss", [
    { ...allButOne, count: r },
    { ...spurious, weight: -beta },
  ]);
  const contradictory = alphaBound(setting, 1 / Math.sqrt(r));
  return [
    {
      id: "flip-beta",
      statement: "E ℓ at (α, β) is below E ℓ at (α, −β), so β < 0 is never optimal",
      left: lossWith,
      relation: "<",
      right: lossFlipped,
      note: "this shows β ≥ 0; β ≠ 0 because ∂L/∂β at β = 0 is −γ·E[−ℓ′] per feature, which is negative",
    },
    {
      id: "alpha-step-1",
      statement: "λα ≤ ½E[−ℓ′(margin without z_k)]",
      left: lambda * alpha,
      relation: "≤",
      right: withoutOne / 2,
    },
    {
      id: "alpha-step-2",
      statement: "½E[−ℓ′(margin without z_k)] ≤ ½E[−ℓ′(αΣ_{R∖k})] + ½e^{−(d−r)γ²/2}",
      left: withoutOne / 2,
      relation: "≤",
      right: invariantOnly / 2 + spuriousTail / 2,
    },
    {
      id: "alpha-step-3",
      statement: "E[−ℓ′(αΣ_{R∖k})] ≤ 1/(1 + e^{α(r−1)/4}) + ½e^{−(r−1)/8}",
      left: invariantOnly,
      relation: "≤",
      right: 1 / (1 + Math.exp((alpha * (r - 1)) / 4)) + Math.exp(-(r - 1) / 8) / 2,
    },
    {
      id: "alpha-step-4",
      statement: "λα ≤ 1/(2(1 + e^{α(r−1)/4})) + ¼e^{−(r−1)/8} + ½e^{−(d−r)γ²/2}",
      left: lambda * alpha,
      relation: "≤",
      right: alphaBound(setting, alpha),
    },
    {
      id: "alpha-contradiction",
      statement: "were α ≥ 1/√r, the right side would not exceed λ/√r: its value at 1/√r",
      left: contradictory,
      relation: "≤",
      right: lambda / Math.sqrt(r),
      needs: [lambdaLarge],
      note: "an equality at λ = λ₀, where the first step's strictness decides",
    },
    {
      id: "alpha-rate",
      statement: "that value is O(e^{−√r/5}), here with the constant 1",
      left: contradictory,
      relation: "≤",
      right: Math.exp(-Math.sqrt(r) / 5),
      note: "an order of growth has no constant to fail: informative only",
    },
  ];
}
