/**
 * Full-batch gradient descent on the toy task, with the rule that stopped it.
 *
 * The training points are separable (by x₁ alone), so the loss has no minimizer: it decreases forever as the head
 * grows, and the boundary keeps rotating, ever more slowly, towards the largest margin. "Until convergence" is
 * therefore meaningless without a stopping rule, and each run reports which of its rules applied first.
 */

import { type Sample, sampleTask, type Task } from "../../data/toy-task.js";
import { UsageError } from "../../errors.js";
import { type Accuracy, accuracyMeter } from "./accuracy.js";
import { decompose, frobeniusNorm, matrix, multiply, transpose } from "./matrix.js";
import {
  type InitName,
  initialModel,
  type LossName,
  type MapName,
  type Model,
  type Predictor,
  predictorOf,
} from "./model.js";
import { evaluateObjective, type ObjectiveValue, prepare } from "./objective.js";
import type { PenaltyName } from "./penalty.js";

export interface TrainOptions {
  task: Task;
  samples: number;
  seed: number;
  init: InitName;
  loss: LossName;
  map: MapName;
  bias: boolean;
  learningRate: number;
  /** The maximum number of steps. */
  steps: number;
  /** Stops before a step if the norm of the objective's gradient is at most this; 0 disables the rule. */
  gradientNorm: number;
  /** Stops before a step if the mean loss, without the penalty, is at most this; 0 disables the rule. */
  lossBelow: number;
  penalty: PenaltyName;
  weight: number;
  scaling: "sum" | "per-sample";
  /** The number of steps before the penalty is added. */
  warmup: number;
}

/** The rule that stopped a run. */
export type StoppedBy = "gradient-norm" | "loss" | "steps";

/** A possible stopping point: a number of steps, or a gradient norm. */
export type Checkpoint = { steps: number } | { gradientNorm: number };

/** The model at a checkpoint, or at the end of the run if the checkpoint was not reached. */
export interface Snapshot {
  step: number;
  reached: boolean;
  loss: number;
  trainAccuracy: number;
  accuracy: Accuracy;
}

export interface Run {
  seed: number;
  stoppedBy: StoppedBy;
  /** The number of steps. */
  steps: number;
  loss: number;
  /** The final value of the weighted penalty. */
  penalty: number;
  gradientNorm: number;
  trainAccuracy: number;
  accuracy: Accuracy;
  predictor: { weights: number[]; offset: number };
  headNorm: number;
  mapNorm: number;
  features: {
    /** ‖F‖_* and ‖F‖_F of the training features, and their ratio: 1 for rank one, √2 for two equal singular values. */
    nuclearNorm: number;
    frobeniusNorm: number;
    ratio: number;
    singularValues: number[];
  };
  /** The model at the requested checkpoints, in their order. */
  history: Snapshot[];
}

/** Throws a UsageError for invalid settings. */
function checkOptions(options: TrainOptions): void {
  const whole = { samples: 1, steps: 0, warmup: 0 } as const;
  for (const [key, least] of Object.entries(whole) as [keyof typeof whole, number][])
    if (!Number.isInteger(options[key]) || options[key] < least)
      throw new UsageError(
        `synthetic training: expected ${key} to be an integer of at least ${least}, got ${options[key]}`,
      );
  for (const key of ["gradientNorm", "lossBelow", "weight"] as const)
    if (!(options[key] >= 0 && Number.isFinite(options[key])))
      throw new UsageError(`synthetic training: expected ${key} to be zero or more, got ${options[key]}`);
  if (!(options.learningRate > 0 && Number.isFinite(options.learningRate)))
    throw new UsageError(`synthetic training: expected a learning rate above zero, got ${options.learningRate}`);
}

/** Trains once and records the model at each checkpoint. Runs of the same task can share `meter`. */
export function trainSynthetic(
  options: TrainOptions,
  checkpoints: readonly Checkpoint[] = [],
  meter: (predictor: Predictor) => Accuracy = accuracyMeter(options.task),
): Run {
  checkOptions(options);
  const sample = sampleTask(options.task, options.samples, "in", options.seed, "train");
  const set = prepare(sample);
  const model = initialModel({ ...options, d: sample.d });
  const history: Snapshot[] = [];
  for (let step = 0; ; step++) {
    const joined = step >= options.warmup;
    const evaluation = evaluateObjective(model, set, options, joined);
    if (!Number.isFinite(evaluation.gradientNorm + evaluation.loss))
      throw new UsageError(
        `synthetic training, seed ${options.seed}: the gradient is not finite at step ${step}; try a learning rate below ${options.learningRate}`,
      );
    const stoppedBy = stopRule(options, step, evaluation);
    checkpoints.forEach((checkpoint, i) => {
      if (history[i]) return;
      const reached =
        "steps" in checkpoint ? step >= checkpoint.steps : joined && evaluation.gradientNorm <= checkpoint.gradientNorm;
      if (!reached && !stoppedBy) return;
      history[i] = {
        step,
        reached,
        loss: evaluation.loss,
        trainAccuracy: evaluation.accuracy,
        accuracy: meter(predictorOf(model)),
      };
    });
    if (stoppedBy)
      return { seed: options.seed, stoppedBy, steps: step, ...describe(model, sample, evaluation, meter), history };
    descend(model, evaluation, options.learningRate);
  }
}

/** Returns the rule that stops training, if any. Before the penalty is active, a small gradient does not stop it. */
function stopRule(options: TrainOptions, step: number, { gradientNorm, loss }: ObjectiveValue): StoppedBy | undefined {
  const waiting = step < options.warmup;
  if (!waiting && options.gradientNorm > 0 && gradientNorm <= options.gradientNorm) return "gradient-norm";
  if (!waiting && options.lossBelow > 0 && loss <= options.lossBelow) return "loss";
  return step >= options.steps ? "steps" : undefined;
}

/** Takes one gradient descent step. */
export function descend(model: Model, { gradient }: ObjectiveValue, learningRate: number): void {
  const pairs = [
    [model.map.data, gradient.map.data],
    [model.head.data, gradient.head.data],
    [model.bias, gradient.bias],
  ] as const;
  for (const [values, slopes] of pairs)
    if (values && slopes) for (let i = 0; i < values.length; i++) values[i] -= learningRate * slopes[i];
}

function describe(model: Model, sample: Sample, evaluation: ObjectiveValue, meter: (predictor: Predictor) => Accuracy) {
  const predictor = predictorOf(model);
  const { sigma } = decompose(multiply(matrix(sample.n, sample.d, sample.x), transpose(model.map)));
  const nuclearNorm = sigma.reduce((sum, s) => sum + s, 0);
  const norm = Math.sqrt(sigma.reduce((sum, s) => sum + s * s, 0));
  return {
    loss: evaluation.loss,
    penalty: evaluation.penalty,
    gradientNorm: evaluation.gradientNorm,
    trainAccuracy: evaluation.accuracy,
    accuracy: meter(predictor),
    predictor: { weights: [...predictor.weights], offset: predictor.offset },
    headNorm: frobeniusNorm(model.head),
    mapNorm: frobeniusNorm(model.map),
    features: {
      nuclearNorm,
      frobeniusNorm: norm,
      ratio: norm > 0 ? nuclearNorm / norm : 1,
      singularValues: [...sigma],
    },
  };
}
