import { expect, test } from "vitest";
import type { EvaluatedRun } from "../records/index.js";
import { oracle } from "../selection/index.js";
import { CHOSEN_METHOD } from "./chosen-method.js";
import { makeReport } from "./report.js";

/** A run with one evaluation: the accuracy on validation pictures of the training domain `b`, and on the held-out one. */
const run = (algorithm: string, trialSeed: number, validation: number, test: number): EvaluatedRun => ({
  ...{
    source: `${algorithm}-${trialSeed}`,
    format: "nudge",
    dataset: "shapes",
    domains: ["a", "b"],
    testDomains: ["a"],
  },
  method: { algorithm, regularizers: [], model: "current", fixed: { steps: 9 } },
  ...{ trialSeed, hparamsSeed: 0 },
  evaluations: [
    {
      step: 8,
      accuracy: new Map([
        ["a", { in: test, out: test }],
        ["b", { in: validation, out: validation }],
      ]),
    },
  ],
});

const runs = [run("erm", 0, 0.8, 0.5), run("erm", 1, 0.6, 0.4), run("coral", 0, 0.7, 0.9), run("coral", 1, 0.9, 0.3)];

test("in each trial the method with the highest validation accuracy counts, whatever it does on the held-out domain", () => {
  const { outcome, comparisons } = makeReport({ runs, stored: [], notes: [] }, { choose: true, against: "ERM" });
  const chosen = outcome.methods.find(({ title }) => title === CHOSEN_METHOD)!;
  const results = outcome.resultsOf(chosen.key, "shapes");
  expect(results.map(({ trialSeed, choice }) => [trialSeed, choice.test, choice.run.source])).toEqual([
    [0, 0.5, "erm-0"],
    [1, 0.3, "coral-1"],
  ]);
  const [all] = comparisons.find(({ first }) => first === CHOSEN_METHOD)!.rows;
  expect(100 * all.mean).toBeCloseTo(-5, 9);
  expect(outcome.notes.join("\n")).toContain(
    "how often each method was chosen in 2 cells and trials: ERM 1, CORAL 1. If one method is chosen for all, CORAL has the highest mean validation accuracy (80.0 %); its mean accuracy on held-out domains is 60.0 %.",
  );
});

test("of methods with equal validation accuracy, the one that was read first is chosen", () => {
  const equal = [run("coral", 0, 0.8, 0.3), run("erm", 0, 0.8, 0.5)];
  for (const [order, source] of [
    [equal, "coral-0"],
    [equal.toReversed(), "erm-0"],
  ] as const) {
    const { outcome } = makeReport({ runs: order, stored: [], notes: [] }, { choose: true });
    const { key } = outcome.methods.find(({ title }) => title === CHOSEN_METHOD)!;
    expect(outcome.resultsOf(key, "shapes").map(({ choice }) => choice.run.source)).toEqual([source]);
  }
});

test("the row is not there unless requested, and hindsight is refused", () => {
  const titles = makeReport({ runs, stored: [], notes: [] }).outcome.methods.map(({ title }) => title);
  expect(titles).toEqual(["ERM", "CORAL"]);
  expect(() => makeReport({ runs, stored: [], notes: [] }, { choose: true, selection: oracle })).toThrow(
    "--choose: the oracle selects on the held-out domain",
  );
});
