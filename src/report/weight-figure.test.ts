import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pacsDomains, writeMadeRun } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { readResults } from "../records/index.js";
import { formatRecord } from "../records/record.js";
import { trainingDomain } from "../selection/index.js";
import { Outcome } from "./outcome.js";
import { weightFigures } from "./weight-figure.js";

/** ERM, and ERM-NU with each of the weights; `ranks` are recorded at the step selection takes and another elsewhere. */
function figuresOf(weights: readonly number[], { ranks = true, trials = (_: number): number[] => [0] } = {}): string[] {
  return inFolder((folder) => {
    for (const weight of [0, ...weights])
      for (const heldOut of pacsDomains)
        for (const trial of trials(weight)) {
          const regularizers = weight === 0 ? [] : [{ id: "nuclear-norm", settings: { weight } }];
          const given: Record<string, number> = weight === 0 ? {} : { "nuclear-norm.weight": weight };
          const made = { heldOut, trial, accuracy: 0.5 + weight, regularizers, settings: { given } };
          const run = writeMadeRun(join(folder, `w${weight}`), made);
          const row = { model: "current", split: "out", metric: "stableRank" } as const;
          const records = [0, 100].flatMap((step) => [
            formatRecord({ ...row, step, domain: heldOut, value: step === 100 ? 3 - 10 * weight : 99 }),
            formatRecord({ ...row, step, domain: null, value: 99 }), // the training domains'
          ]);
          if (ranks) appendFileSync(join(run, "records.jsonl"), records.join(""));
        }
    return weightFigures(new Outcome(readResults([folder]), trainingDomain), "pacs").map(({ svg }) => svg);
  });
}

test("accuracy and stable rank are drawn against the weight, with the plain method across", () => {
  const [svg, ...more] = figuresOf([0.1, 0.01]);
  expect(more).toEqual([]);
  for (const words of ["ERM-NU on PACS", "held-out accuracy", "stable rank, no penalty", "weight λ"])
    expect(svg).toContain(words);
  expect(svg).not.toContain("centred"); // was not recorded
});

test("without recorded ranks there is the accuracy alone", () => {
  const [svg] = figuresOf([0.1, 0.01], { ranks: false });
  expect(svg).toContain("held-out accuracy");
  expect(svg).not.toContain("stable rank");
});

test("one weight is no figure, nor are two on different trials", () => {
  expect(figuresOf([0.1])).toEqual([]);
  expect(figuresOf([0.1, 0.01], { trials: (weight) => (weight === 0.1 ? [0, 1] : [0]) })).toEqual([]);
});
