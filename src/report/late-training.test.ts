import { join } from "node:path";
import { expect, test } from "vitest";
import { nuclearNormOn, pacsDomains, writeMadeRun, writePacsSweep } from "../../tests/support/report-runs.js";
import { inFolder, writeRun } from "../../tests/support/run-folders.js";
import type { RunRecord } from "../records/record.js";
import { comparisonTables } from "./comparison-table.js";
import { equivalenceTables } from "./equivalence.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report, type ReportOptions } from "./report.js";

const STEPS = [0, 100, 200, 300, 400, 500, 600];

/** ERM and ERM-NU: they are equal at the selected step 100. From step 300 on, NU is better by two points, with a small difference per trial. */
function writeSweep(
  folder: string,
  trials: number[],
  splitHash = (_trial: number, _nu: boolean): string => "a",
  hparamsSeed = 0,
): void {
  for (const heldOut of pacsDomains)
    for (const trial of trials)
      for (const nu of [false, true]) {
        const gain = nu ? 0.02 + (trial - 1) / 1000 : 0;
        const records = STEPS.flatMap((step) =>
          pacsDomains.flatMap((domain) =>
            (["in", "out"] as const).map((split): RunRecord => {
              const value = domain === heldOut ? 0.5 + (step < 300 ? 0 : gain) : step === 100 ? 0.9 : 0.8;
              return { step, model: "current", domain, split, metric: "accuracy", value };
            }),
          ),
        );
        const settings = {
          ...{ dataset: "pacs", domains: pacsDomains, testDomains: [heldOut], trialSeed: trial, averaging: [] },
          ...{ regularizers: nu ? nuclearNormOn : [], steps: 601, evaluateEvery: 100, holdout: 0.2 },
          ...{ hparamsSeed, splitHash: splitHash(trial, nu) },
        };
        writeRun(join(folder, `${heldOut}-${trial}-${nu}`), { settings, records });
      }
}

const reportOn = (write: (folder: string) => void, options: ReportOptions = {}): Report =>
  inFolder((folder) => {
    write(folder);
    return makeReport(readResults([folder]), options);
  });

test("late in training is the mean over the second half's evaluations, pair by pair, whatever step was chosen", () => {
  const [{ rows, late }] = reportOn((folder) => writeSweep(folder, [0, 1, 2])).comparisons;
  expect(rows.at(-1)).toMatchObject({ title: "PACS, 4 of 4 domains", mean: 0 });
  expect(late).toMatchObject([{ title: "PACS, second half of training", dataset: "pacs", domain: null, pairs: 12 }]);
  expect(late[0].mean).toBeCloseTo(0.02, 12);
  const half = 4.302653 * (0.001 / Math.sqrt(3)); // gains of 0.019, 0.020 and 0.021
  expect(late[0].interval).toEqual([expect.closeTo(0.02 - half, 6), expect.closeTo(0.02 + half, 6)]);
});

test("with few evaluations there is no such row, and a trial on other splits does not count in it", () => {
  expect(reportOn(writePacsSweep).comparisons[0].late).toEqual([]);
  const split = (trial: number, nu: boolean) => (trial === 1 && nu ? "b" : "a");
  const [{ rows, late }] = reportOn((folder) => writeSweep(folder, [0, 1], split)).comparisons;
  expect(rows.at(-1)?.pairs).toBe(4);
  expect(late).toMatchObject([{ trials: 1, pairs: 4, interval: null, mean: expect.closeTo(0.019, 12) }]);
});

test("in a search, the text says that validation chose the hyperparameters and only the step was not selected", () => {
  const search = (draws: number) =>
    reportOn(
      (folder) => {
        for (let draw = 0; draw < draws; draw++) writeSweep(join(folder, `draw${draw}`), [0, 1], undefined, draw);
      },
      { equivalence: 0.005 },
    );
  for (const [draws, words] of [
    [1, "without model selection."],
    [2, "so the step is not selected; the hyperparameters of searched methods were chosen by validation."],
  ] as const) {
    const { comparisons, equivalence } = search(draws);
    expect(comparisons[0].late).toHaveLength(1);
    for (const [{ words: own }] of [comparisonTables(comparisons), equivalenceTables(equivalence!)])
      expect(own.filter((line) => line.startsWith("Second half"))).toEqual([expect.stringContaining(words)]);
  }
});

test("--equivalence reports why the second half of training is not tested", () => {
  const few = reportOn(writePacsSweep, { equivalence: 0.005 }); // two evaluations in the second half
  const [{ title, notes }, ...others] = equivalenceTables(few.equivalence!);
  expect([title, others]).toEqual([expect.stringMatching(/chosen steps$/), []]);
  expect(notes).toEqual([
    "Second half of training: there is no test, because some runs have fewer than 4 evaluations in it; a smaller evaluateEvery gives more",
  ]);
  const averaging = [{ id: "swad", settings: {} }];
  const average = reportOn(
    (folder) => {
      for (const heldOut of pacsDomains) writeMadeRun(folder, { heldOut, trial: 0, accuracy: 0.5, averaging });
    },
    { compare: [["SWAD", "ERM"]], equivalence: 0.005 },
  );
  expect(average.equivalence?.notes).toEqual([
    "Second half of training: there is no test, because it exists only for the weights of single runs, not for averages, soups and ensembles",
  ]);
  const enough = reportOn((folder) => writeSweep(folder, [0, 1]), { equivalence: 0.005 });
  expect(enough.equivalence?.notes).toEqual([]);
});
