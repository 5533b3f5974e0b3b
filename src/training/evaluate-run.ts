/** One evaluation of a run: it computes the rows, notifies the followers and keeps the best model. */

import { setImmediate as turn } from "node:timers/promises";
import type { Follower } from "../averaging/index.js";
import { REFERENCE_BATCH } from "../data/loader.js";
import { countOf } from "../data/show-name.js";
import type { SplitName } from "../data/split.js";
import { EngineError } from "../errors.js";
import type { ValidationLoss } from "../optim/index.js";
import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import { trainDomainsOf } from "../settings/settings.js";
import type { Progress } from "./checkpoint.js";
import { type EvaluateOptions, evaluate, validationMean } from "./evaluate.js";
import { followedSchedule } from "./followed-schedule.js";
import { writeModel } from "./model-file.js";
import type { Running } from "./running.js";
import { AdaptedPredictions, T3A } from "./t3a-rows.js";
import { withAverage } from "./with-average.js";

type Evaluated = NonNullable<Progress["best"]>;

/**
 * Returns true if an evaluation is better than the best so far. If both are equal, the first is kept, as in model
 * selection. The evaluation after the first update is an exception, because with few validation pictures it may equal a
 * trained model.
 */
export function isBetter({ accuracy }: Evaluated, best: Evaluated | null): boolean {
  return best === null || accuracy > best.accuracy || (best.step === 0 && accuracy === best.accuracy);
}

/**
 * Evaluates the run after a step and passes the rows to `keep`. Then it writes the model if it is the best so far. If
 * it is stopped, the same evaluation can be repeated without a difference.
 */
export async function evaluateRun(
  run: Running,
  { step, last, keep }: { step: number; last: boolean; keep: (rows: readonly RunRecord[]) => void },
): Promise<void> {
  const { plan, folder, progress } = run;
  const current = await rowsOf(run, CURRENT, step, { pause: run.pause }); // only this call can be stopped
  const bad = current.find(({ value }) => !Number.isFinite(value));
  if (bad) throw new EngineError(`${bad.metric} on ${bad.split} of ${bad.domain} is ${bad.value}`, "evaluate");
  const rows = [...takeLogs(progress, step), ...current, ...run.probe.measure(run.learner, step)];
  const training = trainDomainsOf(plan.settings);
  const validationLoss = validationMean(current, "loss", training);
  for (const follower of run.followers)
    if (follower.atEvaluation(step, validationLoss) === "stop") progress.stopped = true;
  const accuracy = validationMean(current, ACCURACY, training);
  if (!progress.stopped && isPatienceExhausted(run, { step, accuracy })) progress.stopped = true;
  if (endsBySchedule(run, { step, loss: validationLoss })) progress.stopped = true;
  const ends = last || progress.stopped;
  for (const [i, follower] of run.followers.entries()) {
    if (ends && follower.candidates?.length) rows.push(await chooseCandidate(run, follower, step));
    if (ends || plan.averaging[i].evaluated === "always")
      await withAverage(run, follower, async () => {
        rows.push(
          ...(await rowsOf(run, follower.id, step)),
          ...(await adaptedRows(run, `${T3A}+${follower.id}`, step)),
        );
      });
  }
  rows.push(...(await adaptedRows(run, T3A, step)));
  folder.checkOwner();
  keep(rows);
  if (!plan.settings.trainOnAll && !isBetter({ step, accuracy }, progress.best)) return;
  progress.best = { step, accuracy };
  folder.checkOwner();
  const { learner, probe } = run;
  writeModel(folder.bestCheckpoint, { plan, learner, sample: probe.sample(), model: CURRENT, step });
}

/** The rows of T3A on the present weights, if the run asks for it. */
async function adaptedRows(run: Running, model: string, step: number): Promise<RunRecord[]> {
  const { t3a } = run.plan.settings;
  if (t3a === undefined) return [];
  using adapted = new AdaptedPredictions(run.learner, t3a);
  const predict: EvaluateOptions["predict"] = (...asked) => adapted.predict(...asked);
  return await rowsOf(run, model, step, { predictions: { predict, batchSize: REFERENCE_BATCH } });
}

/** Returns true if the validation accuracy has not increased for `patience` evaluations, and logs it. */
function isPatienceExhausted({ plan, progress: { best }, say }: Running, evaluated: Evaluated): boolean {
  const { patience, evaluateEvery } = plan.settings;
  if (patience === undefined || best === null || isBetter(evaluated, best)) return false;
  const without = Math.round((evaluated.step - best.step) / evaluateEvery);
  if (without < patience) return false;
  say(`stopped early: no better validation accuracy in ${countOf(without, "evaluation")} since step ${best.step}`);
  return true;
}

/** Passes a validation loss to a schedule that follows it. Returns true if the schedule ends the run, and logs it. */
function endsBySchedule({ plan: { settings }, progress, losses, say }: Running, evaluated: ValidationLoss): boolean {
  if (!followedSchedule(settings, losses)) return false;
  losses.push(evaluated);
  progress.losses = [...losses];
  const { isOver } = followedSchedule(settings, losses)!;
  if (isOver) say(`stopped early: schedule ${settings.schedule!.id} ends the run after step ${evaluated.step}`);
  return isOver;
}

/**
 * Selects the candidate of a follower that is best on the validation pictures of the training domains, or the first of
 * several equal ones.
 */
async function chooseCandidate(run: Running, follower: Follower, step: number): Promise<RunRecord> {
  const training = trainDomainsOf(run.plan.settings);
  const isWanted = (domain: string, part: SplitName): boolean => part === "out" && training.includes(domain);
  const scores: number[] = [];
  for (const candidate of follower.candidates!) {
    follower.choose!(candidate);
    const rows = await withAverage(run, follower, () => rowsOf(run, follower.id, step, { isWanted }));
    scores.push(validationMean(rows, ACCURACY, training));
  }
  const best = follower.candidates![scores.indexOf(Math.max(...scores))];
  follower.choose!(best);
  const each = scores.map((score, i) => `${follower.candidates![i]}: ${(100 * score).toFixed(1)}`).join(", ");
  run.say(`${follower.id}: ${best} is the best on validation pictures, in percent (${each})`);
  return { step, model: follower.id, domain: null, split: null, metric: "coefficient", value: best };
}

/** Returns the means of the logged scalars since the last evaluation as rows, and resets the sums. */
function takeLogs(progress: Progress, step: number): RunRecord[] {
  const { sums, count } = progress.logs;
  progress.logs = { sums: {}, count: 0 };
  return Object.entries(sums).map(([metric, sum]) => ({
    ...{ step, model: CURRENT, domain: null, split: null, metric, value: sum / count },
  }));
}

function rowsOf(
  run: Running,
  model: string,
  step: number,
  {
    pause = () => turn(),
    predictions = run.predictions.forEvaluation(),
    isWanted = (domain, part) =>
      run.plan.settings.evaluateTraining || part !== "in" || run.plan.settings.testDomains.includes(domain),
  }: {
    pause?: () => Promise<void>;
    predictions?: Pick<EvaluateOptions, "predict" | "mixed" | "batchSize" | "areRight">;
    isWanted?: EvaluateOptions["isWanted"];
  } = {},
): Promise<RunRecord[]> {
  const { plan, loader, reporter } = run;
  return evaluate({
    ...{ loader, ...predictions, split: plan.split, isWanted, step, model },
    pause: (done, samples) => {
      reporter.progress?.(`evaluating after step ${step}: ${done} of ${samples}`);
      return pause();
    },
  });
}
