/**
 * The toy task over many seeds: plain ERM and ERM with each penalty, summarized and compared with the paper's numbers.
 */
import { accuracyMeter, isExact } from "./accuracy.js";
import type { PenaltyName } from "./penalty.js";
import { type Checkpoint, type Run, type StoppedBy, type TrainOptions, trainSynthetic } from "./train.js";

/** The out-of-domain accuracies in Section 3.1. */
export const paperAccuracy = { none: 0.76, "nuclear-norm": 0.94 } as const;

/** The tolerance for matching the paper's numbers. */
export const tolerance = 0.02;

/** The names of methods in tables. */
export const methodTitles: Record<PenaltyName, string> = {
  none: "ERM",
  "nuclear-norm": "ERM-NU",
  "frobenius-norm": "ERM + Frobenius",
  "centred-nuclear-norm": "ERM + centred NU",
  "weight-decay": "ERM + weight decay",
};

/** The settings that all runs of an experiment share. */
export type Settings = Omit<TrainOptions, "seed" | "penalty">;

/** Summary over seeds: mean, standard deviation (n − 1), and the seeds with the lowest and highest value. */
export interface Spread {
  mean: number;
  deviation: number;
  lowest: { value: number; seed: number };
  highest: { value: number; seed: number };
}

export interface Method {
  penalty: PenaltyName;
  title: string;
  accuracy: { train: Spread; in: Spread; out: Spread };
  headNorm: Spread;
  /** ‖F‖_* / ‖F‖_F. */
  featureRatio: Spread;
  featureNorm: Spread;
  stoppedBy: Partial<Record<StoppedBy, number>>;
  /** The paper's out-of-domain accuracy, and the number of seeds within the tolerance. */
  paper?: { accuracy: number; seedsWithin: number };
  runs: Run[];
}

export interface Experiment {
  settings: Settings;
  seeds: number[];
  /** The method for computing accuracies. */
  accuracyBy: "area" | "sample";
  /** The checkpoints recorded in every run's history. */
  checkpoints: readonly Checkpoint[];
  methods: Method[];
}

/** Returns the mean, the standard deviation and the extremes of one quantity over runs. */
export function spread(runs: readonly Run[], figure: (run: Run) => number): Spread {
  const values = runs.map((run) => ({ value: figure(run), seed: run.seed }));
  const mean = values.reduce((sum, { value }) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, { value }) => sum + (value - mean) ** 2, 0);
  const ordered = values.toSorted((a, b) => a.value - b.value);
  return {
    mean,
    deviation: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0,
    lowest: ordered[0],
    highest: ordered[ordered.length - 1],
  };
}

/** Trains every method on every seed. All methods use the same sample and initial values for a seed. */
export function runExperiment(
  settings: Settings,
  seeds: number[],
  penalties: readonly PenaltyName[],
  checkpoints: readonly Checkpoint[] = [],
): Experiment {
  const meter = accuracyMeter(settings.task);
  const methods = penalties.map((penalty): Method => {
    const runs = seeds.map((seed) => trainSynthetic({ ...settings, seed, penalty }, checkpoints, meter));
    const stoppedBy: Method["stoppedBy"] = {};
    for (const run of runs) stoppedBy[run.stoppedBy] = (stoppedBy[run.stoppedBy] ?? 0) + 1;
    const target = penalty === "none" || penalty === "nuclear-norm" ? paperAccuracy[penalty] : undefined;
    return {
      penalty,
      title: methodTitles[penalty],
      accuracy: {
        train: spread(runs, (run) => run.trainAccuracy),
        in: spread(runs, (run) => run.accuracy.in),
        out: spread(runs, (run) => run.accuracy.out),
      },
      headNorm: spread(runs, (run) => run.headNorm),
      featureRatio: spread(runs, (run) => run.features.ratio),
      featureNorm: spread(runs, (run) => run.features.frobeniusNorm),
      stoppedBy,
      ...(target === undefined
        ? {}
        : {
            paper: {
              accuracy: target,
              seedsWithin: runs.filter((run) => Math.abs(run.accuracy.out - target) <= tolerance).length,
            },
          }),
      runs,
    };
  });
  return { settings, seeds, accuracyBy: isExact(settings.task) ? "area" : "sample", checkpoints, methods };
}
