import { expect, test } from "vitest";
import { paperTask } from "../../data/toy-task.js";
import { paperAccuracy, runExperiment, type Settings, tolerance } from "./experiment.js";
import { type Cell, findings, type Grid, type GridAxes, ruleText, runGrid } from "./grid.js";
import { comparisonText, experimentText, findingsText, gridText, landmarkText, surveyText } from "./text-report.js";

const settings: Settings = {
  task: paperTask,
  samples: 20,
  init: "uniform",
  loss: "cross-entropy",
  map: "full",
  bias: false,
  learningRate: 0.1,
  steps: 100,
  gradientNorm: 0,
  lossBelow: 0,
  weight: 0.01,
  scaling: "sum",
  warmup: 0,
};

const axes: GridAxes = {
  samples: [10, 20],
  inits: ["uniform"],
  penalties: [
    { weight: 0.01, scaling: "sum" },
    { weight: 0.1, scaling: "per-sample" },
  ],
  checkpoints: [{ steps: 10 }, { steps: 100 }, { gradientNorm: 1e-9 }],
};

test("a cell of the grid holds what the same runs give one by one", () => {
  const grid = runGrid(settings, "nuclear-norm", [0, 1, 2], axes);
  expect(grid.cells).toHaveLength(12);
  const cell = grid.cells.find((c) => c.samples === 20 && c.weight === 0.01 && ruleText(c.checkpoint) === "100 steps")!;
  const [erm, nu] = runExperiment(settings, [0, 1, 2], ["none", "nuclear-norm"]).methods;
  expect(cell.erm.out).toBeCloseTo(erm.accuracy.out.mean, 14);
  expect(cell.penalised.out).toBeCloseTo(nu.accuracy.out.mean, 14);
  expect([cell.erm.lowest, cell.erm.highest]).toEqual([erm.accuracy.out.lowest.value, erm.accuracy.out.highest.value]);
  const never = grid.cells.find((c) => ruleText(c.checkpoint) === "gradient ≤ 1e-9")!;
  expect(never.erm.reached).toBe(0);
});

const outcome = (out: number) => ({ train: 1, in: 1, out, lowest: out - 0.1, highest: out + 0.05, reached: 2 });
const cell = (samples: number, steps: number, erm: number, penalised: number, seedsWithBoth = 0): Cell => ({
  ...{ samples, init: "uniform", weight: 0.01, scaling: "sum", checkpoint: { steps }, seedsWithBoth },
  erm: outcome(erm),
  penalised: outcome(penalised),
});

test("findings and their sentences follow the numbers", () => {
  const appears: Grid = {
    ...{ penalty: "nuclear-norm", seeds: 2, steps: 100 },
    cells: [cell(10, 10, 0.76, 0.94, 1), cell(20, 10, 0.75, 0.8), cell(20, 100, 0.97, 0.9)],
  };
  const found = findings(appears);
  expect(found.both.map((c) => c.samples)).toEqual([10]);
  expect(found.erm).toHaveLength(2);
  expect(found.penalised).toHaveLength(1);
  expect(found).toMatchObject({ pairs: 6, pairsWithBoth: 1, gain: { helps: 2, hurts: 1, neither: 0 } });
  expect(found.ermByRule).toEqual([
    { rule: "10 steps", lowest: 0.75, highest: 0.76 },
    { rule: "100 steps", lowest: 0.97, highest: 0.97 },
  ]);
  expect(findingsText(appears).join("\n")).toContain("both 0.76 and 0.94: 1: n=10, uniform start, 10 steps");
  const absent: Grid = { ...appears, cells: [cell(20, 100, 0.97, 0.97)] };
  expect(findingsText(absent).join("\n")).toContain("both 0.76 and 0.94: 0;");
  expect(findingsText(absent).join("\n")).toContain("ERM's 0.76: 0 of the 1");
});

test("the verdict on an experiment turns with its numbers", () => {
  const experiment = runExperiment(settings, [0, 1], ["none", "nuclear-norm", "frobenius-norm"], [{ steps: 10 }]);
  const erm = experiment.methods[0];
  const verdict = () => comparisonText(experiment).find((line) => line.startsWith("ERM: "))!;
  erm.accuracy.out.mean = paperAccuracy.none + tolerance / 2;
  expect(verdict()).toContain("0.76 appears here");
  erm.accuracy.out.mean = paperAccuracy.none + 2 * tolerance;
  expect(verdict()).toContain("0.76 does not appear here");
});

test("what is printed holds no number that is not finite", () => {
  const grid = runGrid(settings, "nuclear-norm", [0], axes);
  const experiment = runExperiment(settings, [0], ["none", "nuclear-norm", "frobenius-norm"], [{ steps: 10 }]);
  const general = runExperiment({ ...settings, task: { ...paperTask, environmental: 2 } }, [0], ["none"]);
  const lines = [
    experimentText(experiment),
    comparisonText(experiment),
    experimentText(general),
    comparisonText(general),
    landmarkText(paperTask, 20),
    surveyText(grid, "uniform"),
    gridText(grid),
    findingsText(grid),
  ].flat();
  expect(lines.join("\n")).not.toMatch(/NaN|Infinity|undefined/);
  expect(experimentText(general).join("\n")).not.toContain("paper");
});
