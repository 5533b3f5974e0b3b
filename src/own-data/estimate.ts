/** Measures how long a run will take, by timing an update and a prediction on pictures of zeros. */

import { setThreads } from "../engine/device.js";
import { zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { EngineError } from "../errors.js";
import type { Plan } from "../settings/resolve.js";
import { makeLearner } from "../training/make-learner.js";

export interface TimeEstimate {
  /** Seconds of all updates and of all evaluations of a run. */
  readonly training: number;
  readonly evaluation: number;
  /** Seconds of one update, and of predicting one picture. */
  readonly update: number;
  readonly prediction: number;
}

/** The number of pictures for timing a prediction. */
const PREDICTED = 16;

/**
 * Estimates the time of a run that is not a probe; this costs about two updates. Returns null if an algorithm cannot
 * compute on identical pictures.
 */
export function estimateRun(plan: Plan): TimeEstimate | null {
  try {
    return measured(plan);
  } catch (error) {
    if (error instanceof EngineError) return null;
    throw error;
  }
}

function measured(plan: Plan): TimeEstimate {
  const { settings, split } = plan;
  const { steps, evaluateEvery, inputShape, device, testDomains, domains } = settings;
  setThreads(settings.threads);
  const batchSize = settings.hparams.batchSize as number;
  const training = domains.length - testDomains.length;
  using learner = makeLearner(plan);
  const [update, prediction] = scope(() => {
    const x = zeros([batchSize, ...inputShape], { device });
    const y = zeros([batchSize], { dtype: "int64", device });
    const minibatches = Array.from({ length: training }, () => ({ x, y }));
    const few = zeros([PREDICTED, ...inputShape], { device });
    return [
      secondsOf(() => learner.update(minibatches, steps - 1)), // late enough for every penalty to be active
      secondsOf(() => scope(() => learner.predict(few).sum().item())) / PREDICTED,
    ];
  });
  const evaluations = Math.ceil((steps - 1) / evaluateEvery) + 1; // and the assessment at the end
  const pictures = domains.reduce((sum, name) => {
    const parts = split.get(name)!;
    return sum + parts.out.length + (testDomains.includes(name) ? parts.in.length : 0);
  }, 0);
  return { training: steps * update, evaluation: evaluations * pictures * prediction, update, prediction };
}

/** The second execution counts; the first one is the warm-up. */
function secondsOf(action: () => void): number {
  action();
  const begun = performance.now();
  action();
  return (performance.now() - begun) / 1000;
}

/** `40 s`, `12 min`, `3.5 h`, with as many digits as are meaningful. */
export function roughly(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
