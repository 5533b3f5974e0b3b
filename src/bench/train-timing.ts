/** NUDGE's part of `nudge bench train`: the loop of src/training/train.ts without its records, checkpoints and log. */

import { setImmediate as turn } from "node:timers/promises";
import { type LoadedBatch, Loader } from "../data/loader.js";
import type { PictureStore } from "../data/picture-store.js";
import { setThreads, synchronize } from "../engine/device.js";
import { CURRENT } from "../records/record.js";
import type { Plan } from "../settings/resolve.js";
import { DevicePredictions } from "../training/device-predictions.js";
import { evaluate } from "../training/evaluate.js";
import { makeLearner } from "../training/make-learner.js";
import { loaderOptions, openSamples, type Samples } from "../training/samples.js";
import { Updates } from "../training/updates.js";

/** The times of training steps. */
export interface TimedSteps {
  /** Milliseconds per step: the mean over the timed steps. */
  stepMs: number;
  /** The part of the host's time until a batch was ready. On the CPU this includes augmentation; a GPU computes during this time. */
  waitMs: number;
  /** On a GPU, milliseconds of the update alone, on batches that are ready. The rest of a step is the cost of data loading. */
  updateMs?: number;
  /** waitMs / stepMs. */
  share: number;
  /** The source of the pictures, and the device that holds their bytes. */
  store: PictureStore["kind"];
  storeDevice: string;
  /** Whether the update was replayed as a CUDA graph in the end. */
  replayed: boolean;
  /** Messages of the loop, such as why the update was not replayed. */
  notes: string[];
}

export interface Timed extends TimedSteps {
  /** Seconds to evaluate all splits of all domains, the second time. */
  evaluationSeconds: number;
  /** Evaluated pictures per second. */
  evaluationRate: number;
  /** On a GPU, the seconds until the host has launched the evaluation. The closer to the whole time, the more it is the host's. */
  launchSeconds?: number;
}

/** The number of warm-up steps. An update is captured after three steps. */
const WARM_UP = 10;

/**
 * The number of batches for timing the update alone. A network that is trained on a single batch soon has features of such low
 * rank that the nuclear norm is computed by another algorithm than usual.
 */
const AT_HAND = 40;

/** Trains a run for some steps and evaluates it. */
export async function timeTraining(
  plan: Plan,
  steps: number,
  { evaluationBatch }: { evaluationBatch?: number } = {},
): Promise<Timed> {
  setThreads(plan.settings.threads);
  using samples = await openSamples(plan);
  if (!samples?.pictures) throw new TypeError("bench train: no pictures"); // planning rejects other datasets
  let [evaluationSeconds, launchSeconds] = [Number.NaN, Number.NaN];
  const around: Around = async (loader, predictions) => {
    const start = performance.now();
    const since = (): number => (performance.now() - start) / 1000;
    const { areRight, ...options } = predictions.forEvaluation();
    await evaluate({
      ...{ ...options, loader, split: plan.split, step: 0, model: CURRENT, pause: () => turn() },
      areRight() {
        launchSeconds = since();
        return areRight();
      },
    });
    evaluationSeconds = since();
  };
  const timed = await timeSteps(plan, { ...samples, pictures: samples.pictures }, steps, { around, evaluationBatch });
  const pictures = plan.dataset.domains.reduce((sum, { count }) => sum + count, 0);
  return {
    ...{ ...timed, evaluationSeconds, evaluationRate: pictures / evaluationSeconds },
    ...(plan.settings.device !== "cpu" && { launchSeconds }),
  };
}

/** Called before the steps, so that every picture has been read once, and after them. */
type Around = (loader: Loader, predictions: DevicePredictions) => Promise<void>;

/** Trains a run for some steps on open samples. */
export async function timeSteps(
  plan: Plan,
  samples: Samples & { readonly pictures: PictureStore },
  steps: number,
  { around = async () => {}, evaluationBatch }: { around?: Around; evaluationBatch?: number } = {},
): Promise<TimedSteps> {
  const { device } = plan.settings;
  using loader = new Loader({
    ...loaderOptions(plan, samples),
    steps: WARM_UP + steps,
    ...(evaluationBatch && { evaluationBatch }),
  });
  using learner = makeLearner(plan);
  const notes: string[] = [];
  const say = (text: string): void => void notes.push(text);
  using updates = new Updates(learner, loader, { device, say });
  using predictions = new DevicePredictions(learner, { device, say });
  const run = async (from: number, to: number): Promise<void> => {
    for (let step = from; step < to; step++) {
      await updates.make(step);
      await turn();
    }
  };

  await around(loader, predictions);
  await run(0, WARM_UP);
  synchronize(device);
  updates.waited = 0;
  const start = performance.now();
  await run(WARM_UP, WARM_UP + steps);
  synchronize(device);
  const stepMs = (performance.now() - start) / steps;
  updates.collect(); // numbers that are not finite are an error
  const waitMs = updates.waited / steps;
  const updateMs =
    device === "cpu" ? undefined : await onBatchesAtHand(updates, loader, { from: WARM_UP, times: steps });
  await around(loader, predictions);
  return {
    ...{ stepMs, waitMs, updateMs, share: waitMs / stepMs },
    ...{ store: samples.pictures.kind, storeDevice: samples.pictures.device },
    replayed: updates.isReplaying,
    notes: [...notes, ...loader.notes],
  };
}

/** Milliseconds per update on batches that are already on the device, starting with the given step. */
async function onBatchesAtHand(
  updates: Updates,
  loader: Loader,
  { from, times }: { from: number; times: number },
): Promise<number> {
  const batches: LoadedBatch[] = [];
  for (let i = 0; i < Math.min(times, AT_HAND); i++) batches.push(await loader.batch(from + i));
  synchronize(batches[0].x.device);
  const start = performance.now();
  for (let i = 0; i < times; i++) {
    updates.makeOn(batches[i % batches.length], from + times + i);
    await turn();
  }
  synchronize(batches[0].x.device);
  const took = performance.now() - start;
  for (const batch of batches) batch[Symbol.dispose]();
  return took / times;
}
