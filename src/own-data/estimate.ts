/** How long a run will take, measured: an update and a prediction are timed on pictures that are all zero. */

import { setThreads } from "../engine/device.js";
import { zeros } from "../engine/ops.generated.js";
import { scope } from "../engine/scope.js";
import { EngineError } from "../errors.js";
import type { Plan } from "../settings/resolve.js";
import { makeLearner } from "../training/make-learner.js";

export interface TimeEstimate {
  /** Seconds that the updates of a run take, and its evaluations. */
  readonly training: number;
  readonly evaluation: number;
  /** Of one update, and of predicting one picture. */
  readonly update: number;
  readonly prediction: number;
}

/** Pictures that a prediction is timed on. */
const PREDICTED = 16;

/**
 * Estimates a run that is no probe; it costs about two updates. Null where an algorithm cannot compute on pictures that are
 * all alike: then the run itself will tell.
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
      secondsOf(() => learner.update(minibatches, steps - 1)), // late enough for every penalty
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

/** The second time counts: the first prepares. */
function secondsOf(action: () => void): number {
  action();
  const begun = performance.now();
  action();
  return (performance.now() - begun) / 1000;
}

/** `40 s`, `12 min`, `3.5 h`: as exact as it is. */
export function roughly(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}
