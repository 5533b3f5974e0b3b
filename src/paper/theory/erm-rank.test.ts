import { expect, test } from "vitest";
import { solveL2 } from "./erm-l2.js";
import { lossAlongRay, solveRank } from "./erm-rank.js";

test("every split of the bound is tried and the invariant one wins", () => {
  const rank = solveRank({ r: 6, d: 40, gamma: 0.4, lambda: 0.1, bRank: 4 });
  expect(rank).toMatchObject({ invariant: 4, spurious: 0, beta: 0, exhaustive: true });
  expect(rank.candidates.map(({ spurious }) => spurious)).toEqual([0, 1, 2, 3, 4]);
  expect(rank.candidates[2].value).toBe(solveL2({ invariant: 2, spurious: 2, gamma: 0.4, lambda: 0.1 }).value);
});

test("a smaller support is worse, so only full ones need trying", () => {
  const value = (invariant: number, spurious: number) =>
    solveL2({ invariant, spurious, gamma: 0.2, lambda: 0.3 }).value;
  for (const [a, b] of [
    [0, 0],
    [0, 3],
    [3, 0],
    [2, 2],
  ]) {
    expect(value(a + 1, b)).toBeLessThan(value(a, b));
    expect(value(a, b + 1)).toBeLessThan(value(a, b));
  }
});

test("a bound above r lets spurious features in", () => {
  expect(solveRank({ r: 3, d: 20, gamma: 0.4, lambda: 0.1, bRank: 5 })).toMatchObject({ invariant: 3, spurious: 2 });
});

test("a bound as large as d leaves nothing to choose", () => {
  const rank = solveRank({ r: 3, d: 5, gamma: 0.4, lambda: 0.1, bRank: 5 });
  expect(rank.candidates).toHaveLength(1);
  expect(rank).toMatchObject({ invariant: 3, spurious: 2 });
});

test("with hundreds of splits an increasing choice of them is tried, both ends included", () => {
  const { candidates, exhaustive } = solveRank({ r: 150, d: 400, gamma: 0.4, lambda: 1e6, bRank: 150 });
  expect(exhaustive).toBe(false);
  expect(candidates[0].spurious).toBe(0);
  expect(candidates.at(-1)?.spurious).toBe(150);
  candidates.slice(1).forEach(({ spurious }, i) => {
    expect(spurious).toBeGreaterThan(candidates[i].spurious);
  });
});

test("without a norm term the loss falls to zero along the invariant ray", () => {
  const losses = lossAlongRay(2, [1, 10, 100, 1000]).map(({ loss }) => loss);
  losses.slice(1).forEach((loss, i) => {
    expect(loss).toBeLessThan(losses[i] / 20);
  });
  expect(losses[3]).toBeCloseTo(1e-6 * 0.75 * 1.2020569031595942, 15); // t^{−2} η(3), η(3) = ¾ζ(3)
});
