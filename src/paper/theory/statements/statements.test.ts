import { expect, test } from "vitest";
import { INVARIANT } from "../distributions.js";
import { solveL2 } from "../erm-l2.js";
import { solveRank } from "../erm-rank.js";
import { logisticSlope } from "../expectation.js";
import { bruteForce } from "../quadrature.fixture.js";
import { resolveSetting, type TheoryOptions } from "../setting.js";
import { runTheory } from "../theory.js";
import { type Check, relates } from "./check.js";
import { admitsGamma, testConditions } from "./conditions.js";
import { checkProposition } from "./proposition.js";

/** Runs a setting without the splits of a large rank bound, which are the most expensive part and not needed here. */
const run = (options: TheoryOptions) => runTheory({ bRank: 2, samples: 500, ...options });
const line = (checks: readonly Check[], id: string) => checks.find((check) => check.id === id)!;

test("strict relations are strict, the others forgive rounding only", () => {
  expect(relates(1, "<", 1)).toBe(false);
  expect(relates(1, "≤", 1)).toBe(true);
  expect(relates(1 + 1e-13, "≤", 1)).toBe(true);
  expect(relates(1 + 1e-9, "≤", 1)).toBe(false);
  expect(relates(2, "≥", 2 + 1e-9)).toBe(false);
  expect(relates(1, "=", 1.1, 0.2)).toBe(true);
  expect(relates(Number.POSITIVE_INFINITY, "≤", Number.POSITIVE_INFINITY)).toBe(true);
  expect(relates(Number.NEGATIVE_INFINITY, "≤", -3)).toBe(true);
  expect(relates(Number.NaN, "≤", 1)).toBe(false);
});

test("no γ is admissible up to r = 36, some are from 37 on", () => {
  for (let r = 1; r <= 36; r++) expect(admitsGamma(r), `r = ${r}`).toBe(false);
  for (let r = 37; r <= 60; r++) expect(admitsGamma(r), `r = ${r}`).toBe(true);
});

test("at r = 64, γ = 0.4 all conditions are met, and three things in the text do not hold as written", () => {
  const { conditions, checks, counts } = runTheory({ r: 64, gamma: "0.4", samples: 20_000 });
  expect(conditions.every(({ met }) => met)).toBe(true);
  const failing = checks.filter(({ verdict }) => verdict === "fails").map(({ id }) => id);
  expect(failing).toEqual(["room-for-gamma", "ratio-negative-part", "rank-has-minimiser"]);
  expect(counts).toEqual({ holds: checks.length - 3, fails: 3, outside: 0 });
  expect(line(checks, "ratio-bound")).toMatchObject({ right: 1.875, verdict: "holds" });
  expect(line(checks, "l2-accuracy").left).toBeCloseTo(-35.865, 2);
  expect(line(checks, "chain-ranges")).toMatchObject({ left: 1829, right: 1860, verdict: "holds" });
});

test("the step that fails is false by brute force too, in a model small enough to integrate", () => {
  // r = 2, one more spurious feature than z_l, α/β < 4/3: E[−ℓ′|z_l|; z_l < 0] against ½(½ − γ)E[−ℓ′(Z)].
  const [gamma, alpha, beta] = [0.45, 0.3, 0.29];
  const gammas = [INVARIANT, gamma, INVARIANT, gamma];
  const rest = ([a, b]: readonly number[]) => alpha * a + beta * b;
  const left = bruteForce(
    gammas,
    (z) => (z[3] < 0 ? -z[3] * logisticSlope(rest(z) + alpha * z[2] + beta * z[3]) : 0),
    8,
  );
  const right = ((0.5 - gamma) / 2) * bruteForce([INVARIANT, gamma], (z) => logisticSlope(rest(z)));
  expect(left).toBeGreaterThan(right * (1 + 1e-4));
});

test("Hoeffding's step with 4d fails below γ = 3/8, holds at it, and the mended chain holds for both", () => {
  const chain = (gamma: string) => {
    const setting = resolveSetting({ r: 100, gamma, bRank: 1 });
    const l2 = solveL2({ invariant: 100, spurious: setting.d - 100, gamma: setting.gamma, lambda: setting.lambda });
    return checkProposition({ setting, conditions: testConditions(setting), l2, rank: solveRank(setting) });
  };
  const below = chain("0.31");
  expect(line(below, "chain-ranges").verdict).toBe("fails");
  const at = chain("0.375");
  expect(line(at, "chain-ranges").verdict).toBe("holds");
  expect(line(at, "chain-ranges").left).toBeCloseTo(line(at, "chain-ranges").right, 9);
  for (const checks of [below, at]) {
    for (const id of ["mended-hoeffding", "mended-end", "l2-accuracy"]) expect(line(checks, id).verdict).toBe("holds");
  }
});

test("outside its conditions, a line names the conditions that fail", () => {
  const { checks, conditions } = run({ r: 30, gamma: "0.45" });
  expect(line(checks, "l2-accuracy")).toMatchObject({ verdict: "outside", unmet: ["gamma-large"] });
  expect(conditions.find(({ id }) => id === "gamma-large")?.note).toContain("no γ is admissible for r = 30");
  expect(line(checks, "tail-invariant").verdict).toBe("holds"); // lines without conditions are still checked
});

test("each condition can be the only one left", () => {
  const unmet = (options: TheoryOptions) =>
    Object.values(testConditions(resolveSetting({ r: 64, gamma: "0.4", ...options })))
      .filter(({ met }) => !met)
      .map(({ id }) => id);
  expect(unmet({})).toEqual([]);
  expect(unmet({ d: 464 })).toEqual(["d-large"]); // r/γ² + r is exactly 464, so d is not above it
  expect(unmet({ lambda: 0.4 })).toEqual(["lambda-large"]);
  expect(unmet({ bRank: 65 })).toEqual(["rank-small"]);
  expect(unmet({ gamma: "0.375", d: 600 })).toEqual(["gamma-large"]); // exactly 3/√64, so γ is not above it
  expect(unmet({ gamma: "0.5" })).toEqual(["gamma-small"]);
});

test("a bound above r lets spurious features in and costs the rank solution its accuracy", () => {
  const { outcomes, checks } = run({ r: 4, gamma: "0.4", d: 40, bRank: 30 });
  expect(outcomes.rank.support).toEqual({ invariant: 4, spurious: 26 });
  expect(outcomes.rank.outOfDomain.accuracy).toBeLessThan(0.5);
  expect(line(checks, "rank-accuracy")).toMatchObject({ verdict: "outside", satisfied: false });
});

test("the smallest models have every line they can have", () => {
  const { checks, counts } = run({ r: 1, gamma: "0.3", d: 2, bRank: 1 });
  for (const { id, left, right } of checks) expect(Number.isNaN(left) || Number.isNaN(right), id).toBe(false);
  expect(counts.holds).toBeGreaterThan(30);
});
