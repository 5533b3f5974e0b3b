/**
 * The learning rate range test (Smith, 2017, https://arxiv.org/abs/1506.01186): a few updates from the start, each with
 * a larger learning rate than the one before, and the loss of each. The rate at which the loss decreases fastest is
 * good. The rate at which it increases is too large.
 *
 * As in fastai, rates grow exponentially, losses are smoothed with a factor of 0.98 and bias-corrected, and the test
 * ends when the smoothed loss is four times its minimum. The first tenth of the updates is not considered for the
 * fastest decrease: an average of few losses changes by chance. All rates of an algorithm are scaled together, relative
 * to `lr`.
 */

import { Loader } from "../data/loader.js";
import { checkDevice, setThreads } from "../engine/device.js";
import { EngineError, UsageError } from "../errors.js";
import type { Plan } from "../settings/resolve.js";
import { unusedWords, usesSetting } from "../settings/unused.js";
import { makeLearner } from "./make-learner.js";
import { loaderOptions, openSamples } from "./samples.js";
import { Updates } from "./updates.js";

export interface RateTestOptions {
  /** The number of updates. The default is 100. */
  readonly updates?: number;
  readonly from?: number;
  readonly to?: number;
  readonly say?: (text: string) => void;
  /** Called between updates. Returns true to stop. */
  readonly shouldStop?: () => boolean;
}

export interface RatePoint {
  readonly lr: number;
  readonly loss: number;
  /** The smoothed loss. */
  readonly smooth: number;
}

export interface RateTest {
  readonly points: readonly RatePoint[];
  /** The rate at which the smoothed loss decreases fastest, or null if it never decreases. */
  readonly steepest: number | null;
  /** A tenth of the rate at which the smoothed loss is smallest. */
  readonly tenthOfMinimum: number;
  /** How much the smoothed loss decreases, as a fraction of its value after the first tenth of the updates. */
  readonly decrease: number;
  /** The rate to use, or null if the loss hardly decreases, so that the two rates above depend on chance. */
  readonly advised: number | null;
  /** Whether the test ended because the loss increased. */
  readonly diverged: boolean;
}

/** A smaller decrease of the smoothed loss than this fraction can be noise between batches. */
const HARDLY = 0.02;

/**
 * The rate to use. It is the one at which the loss decreases fastest, or the smaller of the two if they are almost the
 * same, or if the fastest decrease is at the minimum, where the loss is about to increase.
 */
function advisedRate(steepest: number, tenthOfMinimum: number): number {
  const areClose = (a: number, b: number): boolean => Math.max(a, b) <= 2 * Math.min(a, b);
  const isAtEdge = areClose(steepest, tenthOfMinimum) || areClose(steepest, 10 * tenthOfMinimum);
  return isAtEdge ? Math.min(steepest, tenthOfMinimum) : steepest;
}

const SMOOTHING = 0.98;
const DIVERGED = 4;

/** Tests learning rates on a run's data, from its initial weights. It does not write anything. */
export async function findRate(plan: Plan, options: RateTestOptions = {}): Promise<RateTest> {
  const { updates = 100, from = 1e-7, to = 1, say = () => {}, shouldStop = () => false } = options;
  const { settings } = plan;
  if (!usesSetting(plan.algorithm, "lr"))
    throw new UsageError(
      `the learning-rate test changes lr, but ${unusedWords(plan.algorithm, "lr")}; compare values of these settings in a sweep (--grid)`,
    );
  const lr = settings.hparams.lr as number;
  if (!(lr > 0)) throw new UsageError(`the learning-rate test scales lr, so lr must be above 0, got ${lr}`);
  checkDevice(settings.device);
  setThreads(settings.threads);
  using samples = await openSamples(plan, { say, shouldStop });
  if (samples === null) throw new UsageError("the learning-rate test was stopped before its first update");
  using loader = new Loader(loaderOptions(plan, samples));
  const rateAt = (step: number): number => from * (to / from) ** (step / Math.max(1, updates - 1));
  using learner = makeLearner(plan, samples.makeBackbone, { rate: (step) => rateAt(step) / lr });
  const losses: number[] = [];
  const lossOf = comparableLosses(plan.algorithm.title);
  using made = new Updates(learner, loader, {
    ...{ device: settings.device, capture: false, say },
    onLogs: ({ sums, count }) => void losses.push(lossOf(sums) / count),
  });
  let diverged = false;
  for (let step = 0; step < updates && !diverged && !shouldStop(); step++) {
    try {
      await made.make(step);
      made.collect();
    } catch (error) {
      if (!(error instanceof EngineError) || step === 0) throw error;
      diverged = true; // a loss that is not finite
    }
    diverged ||= hasRisen(smoothed(losses));
  }
  return rateTest(losses, rateAt, diverged);
}

/**
 * Returns the loss of each update: the scalar `loss`, or the first one that an algorithm logs. An algorithm that trains
 * its parts in turns logs a different loss in each turn; their course says nothing about the learning rate.
 */
export function comparableLosses(title: string): (logs: Readonly<Record<string, number>>) => number {
  let first: string[] | undefined;
  return (logs) => {
    if (logs.loss !== undefined) return logs.loss;
    const names = Object.keys(logs);
    first ??= names;
    if (names.join() !== first.join())
      throw new UsageError(
        `the learning-rate test compares the losses of updates, but ${title} trains its parts in turns, with other losses in each turn (${first.join(", ")}; then ${names.join(", ")}); compare rates in a sweep instead (--grid lr=1e-4,1e-3)`,
      );
    return logs[names[0]];
  };
}

/** Returns the bias-corrected exponential moving averages of losses. */
export function smoothed(losses: readonly number[]): number[] {
  let mean = 0;
  return losses.map((loss, i) => {
    mean = SMOOTHING * mean + (1 - SMOOTHING) * loss;
    return mean / (1 - SMOOTHING ** (i + 1));
  });
}

const hasRisen = (smooth: readonly number[]): boolean => (smooth.at(-1) ?? 0) > DIVERGED * Math.min(...smooth);

/** Computes the result of a test from its losses. */
export function rateTest(losses: readonly number[], rateAt: (step: number) => number, diverged: boolean): RateTest {
  const smooth = smoothed(losses);
  const points = losses.map((loss, step) => ({ lr: rateAt(step), loss, smooth: smooth[step] }));
  const lowest = smooth.indexOf(Math.min(...smooth));
  // Slopes between neighbours on the logarithmic axis, up to the minimum of the loss.
  const first = Math.floor(losses.length / 10) + 1;
  const slopes = smooth.slice(first, lowest + 1).map((value, i) => value - smooth[first + i - 1]);
  const steepest = slopes.length === 0 ? -1 : slopes.indexOf(Math.min(...slopes));
  const fastest = steepest >= 0 && slopes[steepest] < 0 ? rateAt(first + steepest) : null;
  const tenthOfMinimum = rateAt(lowest) / 10;
  const start = smooth[Math.min(first, smooth.length) - 1];
  const decrease = Math.max(0, (start - smooth[lowest]) / Math.abs(start));
  const advised = fastest === null || decrease < HARDLY ? null : advisedRate(fastest, tenthOfMinimum);
  return { points, steepest: fastest, tenthOfMinimum, decrease, advised, diverged };
}
