import { expect, test } from "vitest";
import { SettingsMemo } from "../settings/memo.js";
import { costOfRun, estimateRuns } from "./estimate.js";
import { makePlan } from "./make-plan.js";
import { measureRun, type RunCost } from "./measure-run.js";
import type { PlannedRun } from "./sweep-folder.js";

const cost: RunCost = {
  ...{ start: 3, update: 0.1, evaluation: 2, evaluated: true, batchSize: 32 },
  ...{ disk: 1000, models: 500, records: 10, checkpoint: 2000 },
};

function run(request: PlannedRun["request"]): PlannedRun {
  const usual = { data: "pacs", backbone: "resnet50", algorithm: "erm", regularizers: [], averaging: [] };
  const length = { steps: 301, evaluateEvery: 100, evaluateFirst: true, batchSize: 32 };
  return { id: "0", name: "0", title: String(request.algorithm), request: { ...usual, ...length, ...request } };
}

test("a run takes its start, its updates by their batch, and its evaluations, of which the last may be between two", () => {
  expect(costOfRun(run({}), cost)).toEqual({ seconds: 3 + 30.1 + 4 * 2, disk: 1040, models: 500 }); // at 0, 100, 200, 300
  expect(costOfRun(run({ steps: 351 }), cost).disk).toBe(1050); // and at 350
  expect(costOfRun(run({ evaluateFirst: false }), cost).disk).toBe(1030);
  expect(costOfRun(run({ batchSize: 64 }), cost).seconds).toBeCloseTo(3 + 60.2 + 8, 10);
  expect(costOfRun(run({ retrain: true }), cost)).toEqual({
    seconds: 2 * (3 + 30.1 + 4 * 2),
    disk: 2080,
    models: 1000,
  });
});

test("settings that need more steps than a trial has do not prevent the estimate", async () => {
  const given = {
    ...{ data: "shapes", "data.size": 16, "data.perCell": 2, testDomains: "filled", trials: 1, steps: 400 },
    ...{ headFirst: 300, warmupSteps: 100, schedule: "step", "step.period": 100, patience: 2, retrain: true },
  };
  const { runs } = await makePlan({ given: { ...given, batchSize: 2 } });
  const { update } = await measureRun(runs[0].request, { memo: new SettingsMemo(), device: "cpu", seconds: 1 });
  expect(update).toBeGreaterThan(0);
});

test("one run of each kind is tried, and kinds that there was no time for count as the mean of those near them", async () => {
  const tried: string[] = [];
  const updates: Readonly<Record<string, number>> = { erm: 0.1, irm: 0.3 };
  const runs = [
    ...["erm", "erm", "irm", "mmd"].map((algorithm) => run({ algorithm })),
    run({ algorithm: "erm", data: "vlcs" }),
  ];
  let now = 0;
  const clock = performance.now;
  performance.now = () => now;
  try {
    const estimate = await estimateRuns(runs, {
      memo: new SettingsMemo(),
      device: "cpu",
      seconds: 2.5,
      measure: (request) => {
        tried.push(`${request.data} ${request.algorithm}`);
        now += 1000;
        return Promise.resolve({ ...cost, update: updates[String(request.algorithm)] });
      },
    });
    expect(tried).toEqual(["pacs erm", "vlcs erm", "pacs irm"]);
    expect([estimate.kinds, estimate.measured, estimate.guessed]).toEqual([4, 3, false]);
    const [erm, , irm, mmd] = estimate.seconds;
    expect(irm - erm).toBeCloseTo(301 * 0.2, 10);
    expect(mmd).toBeCloseTo((erm + irm) / 2, 10);
    expect(estimate.disk).toEqual({ all: 5 * 1540, chosen: 4 * 500 + 5 * 1040, none: 5 * 1040 });
  } finally {
    performance.now = clock;
  }
});
