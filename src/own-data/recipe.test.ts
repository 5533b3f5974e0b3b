import { expect, test } from "vitest";
import type { Judged } from "../analysis/judged.js";
import { UsageError } from "../errors.js";
import {
  bestTuned,
  COEFFICIENTS,
  candidateRows,
  chooseCandidate,
  type JudgedFold,
  nestedChoices,
  nestedEstimate,
  reasonFor,
} from "./recipe.js";
import { leavesRecipeOpen, readBudget } from "./recipe-plan.js";

/** A fold of one domain, with the number of correct predictions of each candidate on 200 pictures. */
const fold = (domain: string, ...right: number[]): JudgedFold => ({
  domains: [domain],
  candidates: right.map((count) =>
    Array.from({ length: 200 }, (_, i): Judged => {
      const predicted = i < count ? 0 : 1;
      return {
        name: `${domain}/${i}`,
        domain,
        label: 0,
        predicted,
        confidence: 0.9,
        truth: 0.5,
        loss: 0.7,
        brier: 0.5,
      };
    }),
  ),
});

test("fine-tuning is chosen where it is clearly better on held-out domains", () => {
  const folds = [fold("a", 100, 110, 130, 135, 160), fold("b", 100, 110, 120, 140, 150)];
  expect(COEFFICIENTS[chooseCandidate(folds).chosen]).toBe(1);
  const rows = candidateRows(folds, COEFFICIENTS);
  expect(rows.map(({ chosen }) => chosen)).toEqual([false, false, false, false, true]);
  expect(rows[0].domains).toEqual([
    { name: "a", accuracy: 0.5, count: 200 },
    { name: "b", accuracy: 0.5, count: 200 },
  ]);
  expect(reasonFor(rows, "held-out domains")).toContain("more than one standard error above every simpler candidate");
});

test("the exact probe is kept where fine-tuning gains less than a standard error", () => {
  // They differ by one picture: a difference of 0.25 points, which equals its standard error.
  const folds = [fold("a", 180, 180, 180, 180, 181), fold("b", 180, 180, 180, 180, 180)];
  const rows = candidateRows(folds, COEFFICIENTS);
  expect(rows.find(({ chosen }) => chosen)?.name).toBe("exact probe");
  expect(reasonFor(rows, "held-out domains")).toContain("within one standard error");
});

test("the estimate of a fold is that of the candidate which the other folds choose", () => {
  // Fine-tuning helps only on c. The other folds choose the probe, so the estimate of c is that of the probe.
  const folds = [fold("a", 150, 100), fold("b", 150, 100), fold("c", 50, 200)];
  expect(nestedChoices(folds)).toEqual([1, 1, 0]);
  const { domains } = nestedEstimate(folds, { classes: ["x", "y"], step: 0 });
  expect(domains.map(({ name, part, accuracy }) => [name, part, accuracy])).toEqual([
    ["a", "held out", 0.5],
    ["b", "held out", 0.5],
    ["c", "held out", 0.25],
  ]);
});

test("a budget is a time with its unit", () => {
  expect([readBudget("10min"), readBudget("90s"), readBudget("1.5h")]).toEqual([600, 90, 5400]);
  for (const wrong of ["10", "soon", "-5min", "0s"]) expect(() => readBudget(wrong)).toThrow(UsageError);
});

test("the recipe is open where no method is named and trained weights are wanted", () => {
  expect(leavesRecipeOpen({ data: "x", steps: 5 })).toBe(true);
  expect(leavesRecipeOpen({ data: "x", algorithm: "ERM" })).toBe(false);
  expect(leavesRecipeOpen({ data: "x", probe: "exact" })).toBe(false);
  expect(leavesRecipeOpen({ data: "x", pretrained: false })).toBe(false);
});

test("with several trials a domain has their mean, and an interval with their spread in it", () => {
  const trials = (domain: string, ...rights: number[][]): JudgedFold => {
    const all = rights.map((right) => fold(domain, ...right));
    return {
      domains: [domain],
      candidates: all[0].candidates.map((_, c) => all.flatMap((each) => each.candidates[c])),
    };
  };
  const folds = [trials("a", [100, 150], [100, 160], [100, 170]), trials("b", [100, 120], [100, 140], [100, 190])];
  const one = nestedEstimate([fold("a", 100, 160), fold("b", 100, 150)], { classes: ["x", "y"], step: 9 });
  const several = nestedEstimate(folds, { classes: ["x", "y"], step: 9, trials: 3 });
  expect(several.trials).toBe(3);
  expect(several.domains.map(({ accuracy }) => Number(accuracy.toFixed(6)))).toEqual([0.8, 0.75]);
  expect(several.domains.map(({ count }) => count)).toEqual([200, 200]);
  const width = ({ interval: [from, to] }: { interval: readonly [number, number] }): number => to - from;
  expect(width(several.domains[0])).toBeGreaterThan(width(one.domains[0]));
  expect(width(several.domains[1])).toBeGreaterThan(width(several.domains[0]));
  const rows = candidateRows(folds, [0, 1]);
  expect(rows.map(({ mean }) => Number(mean.toFixed(6)))).toEqual([0.5, 0.775]);
  expect(rows.map(({ domains }) => domains[0].count)).toEqual([200, 200]);
});

test("--recipe finetune is estimated by the best fine-tuned candidate of the other folds, whatever the probe gives", () => {
  const folds = [fold("a", 190, 150, 160), fold("b", 190, 170, 150)];
  expect(bestTuned([folds[0]])).toBe(2);
  expect(nestedChoices(folds, bestTuned)).toEqual([1, 2]);
  expect(nestedChoices(folds)).toEqual([0, 0]);
});
