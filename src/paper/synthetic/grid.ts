/**
 * Finds the settings that reproduce the paper's two numbers: ERM and ERM with the penalty over sample sizes,
 * initializations, weights and scalings, each under several stopping rules.
 *
 * One training run covers all stopping rules. The findings are computed from the cells.
 */
import { accuracyMeter } from "./accuracy.js";
import { paperAccuracy, type Settings, tolerance } from "./experiment.js";
import type { InitName } from "./model.js";
import type { PenaltyName } from "./penalty.js";
import { type Checkpoint, trainSynthetic } from "./train.js";

export interface GridAxes {
  samples: number[];
  inits: InitName[];
  penalties: { weight: number; scaling: "sum" | "per-sample" }[];
  checkpoints: Checkpoint[];
}

/** The axes of `--grid`. */
export const fullAxes: GridAxes = {
  samples: [10, 20, 100, 500],
  inits: ["uniform", "normal", "identity", "small"],
  penalties: [
    { weight: 0.01, scaling: "sum" },
    { weight: 0.1, scaling: "sum" },
    { weight: 0.01, scaling: "per-sample" },
    { weight: 0.1, scaling: "per-sample" },
  ],
  checkpoints: [
    { steps: 10 },
    { steps: 15 },
    { steps: 20 },
    { steps: 30 },
    { steps: 100 },
    { steps: 300 },
    { steps: 1000 },
    { steps: 2000 },
    { gradientNorm: 0.1 },
    { gradientNorm: 0.01 },
  ],
};

/** The result of one method in one setting. */
export interface GridResult {
  /** Means over seeds. */
  train: number;
  in: number;
  out: number;
  /** The lowest and highest out-of-domain accuracy of a seed. */
  lowest: number;
  highest: number;
  /** The number of seeds that reached the checkpoint before the step limit. */
  reached: number;
}

export interface Cell {
  samples: number;
  init: InitName;
  weight: number;
  scaling: "sum" | "per-sample";
  checkpoint: Checkpoint;
  erm: GridResult;
  penalised: GridResult;
  /** The number of seeds for which both methods are within the tolerance of the paper's numbers. */
  seedsWithBoth: number;
}

export interface Grid {
  penalty: PenaltyName;
  seeds: number;
  steps: number;
  cells: Cell[];
}

/**
 * Runs every combination of the axes with otherwise the same `settings`. A gradient rule is limited to the largest
 * number of steps in the axes.
 */
export function runGrid(settings: Settings, penalty: PenaltyName, seeds: number[], axes: GridAxes = fullAxes): Grid {
  const steps = Math.max(...axes.checkpoints.map((checkpoint) => ("steps" in checkpoint ? checkpoint.steps : 0)), 1);
  const base = { ...settings, steps, gradientNorm: 0, lossBelow: 0 };
  const meter = accuracyMeter(settings.task);
  const cells: Cell[] = [];
  for (const samples of axes.samples)
    for (const init of axes.inits) {
      const train = (name: PenaltyName, change: Partial<Settings>) =>
        seeds.map(
          (seed) =>
            trainSynthetic({ ...base, ...change, samples, init, seed, penalty: name }, axes.checkpoints, meter).history,
        );
      const erm = train("none", {});
      for (const { weight, scaling } of axes.penalties) {
        const penalised = train(penalty, { weight, scaling });
        axes.checkpoints.forEach((checkpoint, at) => {
          const both = seeds.filter(
            (_, i) =>
              near(erm[i][at].accuracy.out, paperAccuracy.none) &&
              near(penalised[i][at].accuracy.out, paperAccuracy["nuclear-norm"]),
          );
          cells.push({
            ...{ samples, init, weight, scaling, checkpoint, seedsWithBoth: both.length },
            erm: outcome(erm.map((history) => history[at])),
            penalised: outcome(penalised.map((history) => history[at])),
          });
        });
      }
    }
  return { penalty, seeds: seeds.length, steps, cells };
}

const near = (value: number, target: number): boolean => Math.abs(value - target) <= tolerance;

function outcome(
  snapshots: { trainAccuracy: number; accuracy: { in: number; out: number }; reached: boolean }[],
): GridResult {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const out = snapshots.map((snapshot) => snapshot.accuracy.out);
  return {
    train: mean(snapshots.map((snapshot) => snapshot.trainAccuracy)),
    in: mean(snapshots.map((snapshot) => snapshot.accuracy.in)),
    out: mean(out),
    lowest: Math.min(...out),
    highest: Math.max(...out),
    reached: snapshots.filter((snapshot) => snapshot.reached).length,
  };
}

/** Describes a stopping rule. */
export const ruleText = (checkpoint: Checkpoint): string =>
  "steps" in checkpoint ? `${checkpoint.steps} steps` : `gradient ≤ ${checkpoint.gradientNorm}`;

/** Describes a setting. */
export const settingText = (cell: Cell): string =>
  `n=${cell.samples}, ${cell.init} start, ${ruleText(cell.checkpoint)}, weight ${cell.weight} ${cell.scaling}`;

/** The findings of the grid about the paper's numbers. */
export interface Findings {
  settings: number;
  /** Settings whose means are both within the tolerance of the paper's. */
  both: Cell[];
  /**
   * Settings in which ERM's mean is within the tolerance, listed once each, because they do not depend on the penalty.
   */
  erm: Cell[];
  /** The number of different settings for ERM, which does not depend on weight and scaling. */
  ermSettings: number;
  /** Settings in which the penalized mean is within the tolerance. */
  penalised: Cell[];
  /** The number of pairs of runs with one seed each, and how many of them match both numbers. */
  pairs: number;
  pairsWithBoth: number;
  /** ERM's lowest and highest mean for each stopping rule, over sample sizes and initializations. */
  ermByRule: { rule: string; lowest: number; highest: number }[];
  /** The number of settings by the effect of the penalty on the mean out-of-domain accuracy. */
  gain: { helps: number; hurts: number; neither: number; largest: Cell; smallest: Cell };
}

/** Computes the findings of a grid. */
export function findings(grid: Grid): Findings {
  const { cells } = grid;
  const ermSettings = uniqueBy(cells, (cell) => `${cell.samples} ${cell.init} ${ruleText(cell.checkpoint)}`);
  const gain = (cell: Cell) => cell.penalised.out - cell.erm.out;
  const byGain = cells.toSorted((a, b) => gain(b) - gain(a));
  const rules = uniqueBy(cells, (cell) => ruleText(cell.checkpoint)).map((cell) => ruleText(cell.checkpoint));
  return {
    settings: cells.length,
    both: cells.filter(
      (cell) => near(cell.erm.out, paperAccuracy.none) && near(cell.penalised.out, paperAccuracy["nuclear-norm"]),
    ),
    erm: ermSettings.filter((cell) => near(cell.erm.out, paperAccuracy.none)),
    ermSettings: ermSettings.length,
    penalised: cells.filter((cell) => near(cell.penalised.out, paperAccuracy["nuclear-norm"])),
    pairs: cells.length * grid.seeds,
    pairsWithBoth: cells.reduce((sum, cell) => sum + cell.seedsWithBoth, 0),
    ermByRule: rules.map((rule) => {
      const means = ermSettings.filter((cell) => ruleText(cell.checkpoint) === rule).map((cell) => cell.erm.out);
      return { rule, lowest: Math.min(...means), highest: Math.max(...means) };
    }),
    gain: {
      helps: cells.filter((cell) => gain(cell) > tolerance).length,
      hurts: cells.filter((cell) => gain(cell) < -tolerance).length,
      neither: cells.filter((cell) => Math.abs(gain(cell)) <= tolerance).length,
      largest: byGain[0],
      smallest: byGain[byGain.length - 1],
    },
  };
}

function uniqueBy<T>(items: readonly T[], key: (item: T) => string): T[] {
  return [...new Map(items.toReversed().map((item) => [key(item), item])).values()].toReversed();
}
