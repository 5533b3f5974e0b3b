/**
 * The toy task of the paper's Section 3.1 for the page: ERM and ERM-NU from the same initial weights on the same
 * points. It is small enough for plain TypeScript, so it does not load the engine. It works in slices, so that the
 * server stays responsive, and stops when no client listens.
 */

import { setImmediate as turn } from "node:timers/promises";
import { paperTask, sampleTask } from "../data/toy-task.js";
import { UsageError } from "../errors.js";
import { accuracyMeter } from "../paper/synthetic/accuracy.js";
import { decompose, multiply, transpose } from "../paper/synthetic/matrix.js";
import { initialModel, type Model, predictorOf } from "../paper/synthetic/model.js";
import {
  evaluateObjective,
  type Objective,
  type ObjectiveValue,
  prepare,
  type TrainingSet,
} from "../paper/synthetic/objective.js";
import { descend } from "../paper/synthetic/train.js";
import { type ToyClassifier, type ToyEvents, type ToySettings, toyLimits, toyStarts } from "./api.js";

/** The number of frames of a training, more than a screen shows during the animation. */
const FRAMES = 240;

const SLICE_MS = 8;

type Send = <K extends keyof ToyEvents>(kind: K, data: ToyEvents[K]) => void;

/** Reads the settings from a query. Missing values have their defaults; a value out of range is a UsageError. */
export function readToySettings(query: URLSearchParams): ToySettings {
  const number = (name: keyof typeof toyLimits, whole: boolean): number => {
    const { least, most, usual } = toyLimits[name];
    const text = query.get(name);
    if (text === null) return usual;
    const value = Number(text);
    if (text.trim() === "" || !(value >= least && value <= most) || (whole && !Number.isInteger(value)))
      throw new UsageError(
        `toy task: expected ${name} to be a ${whole ? "whole " : ""}number from ${least} to ${most}, got "${text.slice(0, 40)}"`,
      );
    return value;
  };
  const asked = query.get("init") ?? toyStarts[0];
  const init = toyStarts.find((name) => name === asked);
  if (init === undefined)
    throw new UsageError(`toy task: expected init to be one of ${toyStarts.join(", ")}, got "${asked.slice(0, 40)}"`);
  return {
    samples: number("samples", true),
    weight: number("weight", false),
    steps: number("steps", true),
    learningRate: number("learningRate", false),
    seed: number("seed", true),
    init,
  };
}

/** Trains both models and reports the progress, until the end or until `stopped` returns true. */
export async function trainToy(settings: ToySettings, send: Send, stopped: () => boolean): Promise<void> {
  const { samples, seed, init, steps, weight, learningRate } = settings;
  const sample = sampleTask(paperTask, samples, "in", seed, "train");
  const points = Array.from(
    { length: sample.n },
    (_, i) => [sample.x[2 * i], sample.x[2 * i + 1], sample.y[i]] as const,
  );
  const shown = frameSteps(steps);
  send("start", { points, frames: shown.size });
  const start = (penalty: "none" | "nuclear-norm"): Learner => ({
    model: initialModel({ d: 2, loss: "cross-entropy", map: "full", init, bias: false, seed }),
    objective: { penalty, weight, scaling: "sum", map: "full" },
  });
  const [erm, nu] = [start("none"), start("nuclear-norm")];
  const set = prepare(sample);
  let since = performance.now();
  for (let step = 0; step <= steps; step++) {
    const evaluations = [erm, nu].map(({ model, objective }) => evaluateObjective(model, set, objective));
    if (evaluations.some(({ gradientNorm }) => !Number.isFinite(gradientNorm)))
      throw new UsageError(`toy task: the gradient is not finite at step ${step}; use a smaller learning rate`);
    if (shown.has(step))
      send("frame", {
        step,
        erm: describe(erm, set, evaluations[0]),
        nu: describe(nu, set, evaluations[1]),
      });
    [erm, nu].forEach(({ model }, i) => {
      descend(model, evaluations[i], learningRate);
    });
    if (performance.now() - since > SLICE_MS) {
      await turn();
      if (stopped()) return;
      since = performance.now();
    }
  }
  send("end", { steps });
}

interface Learner {
  readonly model: Model;
  readonly objective: Objective;
}

const meter = accuracyMeter(paperTask);

function describe({ model }: Learner, { inputs }: TrainingSet, { loss, accuracy }: ObjectiveValue): ToyClassifier {
  const predictor = predictorOf(model);
  const [a, b] = predictor.weights;
  const { sigma } = decompose(multiply(inputs.plain, transpose(model.map)));
  const [nuclear, squares] = sigma.reduce(([sum, square], s) => [sum + s, square + s * s], [0, 0]);
  const ratio = squares > 0 ? nuclear / Math.sqrt(squares) : 1;
  return { a, b, c: predictor.offset, loss, train: accuracy, ...meter(predictor), ratio };
}

/** The steps to show: dense at the start, where the boundary rotates fast. */
function frameSteps(steps: number): Set<number> {
  const last = FRAMES - 1;
  return new Set(Array.from({ length: FRAMES }, (_, i) => Math.round(steps * (i / last) ** 2)));
}
