/** One evaluation of a run: its rows, the followers' look at them, and the best model so far. */

import { setImmediate as turn } from "node:timers/promises";
import type { Follower } from "../averaging/index.js";
import type { SplitName } from "../data/split.js";
import { EngineError } from "../errors.js";
import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import { trainDomainsOf } from "../settings/settings.js";
import type { Progress } from "./checkpoint.js";
import { type EvaluateOptions, evaluate, validationMean } from "./evaluate.js";
import { writeModel } from "./model-file.js";
import type { Running } from "./running.js";
import { AdaptedPredictions, T3A } from "./t3a-rows.js";
import { withAverage } from "./with-average.js";

type Evaluated = NonNullable<Progress["best"]>;

/**
 * Whether an evaluation goes before the best so far. Of equals the first is taken, as selection takes it; but not the one after
 * a single update, which few validation pictures may not tell from a trained model.
 */
export function isBetter({ accuracy }: Evaluated, best: Evaluated | null): boolean {
  return best === null || accuracy > best.accuracy || (best.step === 0 && accuracy === best.accuracy);
}

/**
 * Evaluates the run after a step and gives the rows to `keep`; then the best model is written, if it is this one. Where
 * it is stopped, nothing has changed that the same evaluation would not find again.
 */
export async function evaluateRun(
  run: Running,
  { step, last, keep }: { step: number; last: boolean; keep: (rows: readonly RunRecord[]) => void },
): Promise<void> {
  const { plan, folder, progress } = run;
  const current = await rowsOf(run, CURRENT, step, { pause: run.pause }); // may be stopped in here, and nowhere below
  const bad = current.find(({ value }) => !Number.isFinite(value));
  if (bad) throw new EngineError(`${bad.metric} on ${bad.split} of ${bad.domain} is ${bad.value}`, "evaluate");
  const rows = [...takeLogs(progress, step), ...current, ...run.probe.measure(run.learner, step)];
  const training = trainDomainsOf(plan.settings);
  const validationLoss = validationMean(current, "loss", training);
  for (const follower of run.followers)
    if (follower.atEvaluation(step, validationLoss) === "stop") progress.stopped = true;
  const accuracy = validationMean(current, ACCURACY, training);
  if (!progress.stopped && hasLostPatience(run, { step, accuracy })) progress.stopped = true;
  const ends = last || progress.stopped;
  for (const [i, follower] of run.followers.entries()) {
    if (ends && follower.candidates?.length) rows.push(await chooseCandidate(run, follower, step));
    if (ends || plan.averaging[i].evaluated === "always")
      rows.push(...(await withAverage(run, follower, () => rowsOf(run, follower.id, step))));
  }
  if (plan.settings.t3a !== undefined) {
    using adapted = new AdaptedPredictions(run.learner, plan.settings.t3a);
    rows.push(...(await rowsOf(run, T3A, step, { predict: (...asked) => adapted.predict(...asked) })));
  }
  folder.checkOwner();
  keep(rows);
  if (!plan.settings.trainOnAll && !isBetter({ step, accuracy }, progress.best)) return;
  progress.best = { step, accuracy };
  folder.checkOwner();
  const { learner, probe } = run;
  writeModel(folder.bestCheckpoint, { plan, learner, sample: probe.sample(), model: CURRENT, step });
}

/** Whether the validation accuracy has not risen for so many evaluations as the run has patience for; it says so. */
function hasLostPatience({ plan, progress: { best }, say }: Running, evaluated: Evaluated): boolean {
  const { patience, evaluateEvery } = plan.settings;
  if (patience === undefined || best === null || isBetter(evaluated, best)) return false;
  const without = Math.round((evaluated.step - best.step) / evaluateEvery);
  if (without < patience) return false;
  say(`stopped early: no better validation accuracy in ${without} evaluations since step ${best.step}`);
  return true;
}

/** Gives a follower the candidate that is best on the validation pictures of the training domains, of equals the first. */
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

/** The means of what updates logged since the last evaluation, as rows; they are counted from 0 again. */
function takeLogs(progress: Progress, step: number): RunRecord[] {
  const { sums, count } = progress.logs;
  progress.logs = { sums: {}, count: 0 };
  return Object.entries(sums).map(([metric, sum]) => ({
    ...{ step, model: CURRENT, domain: null, split: null, metric, value: sum / count },
  }));
}

function rowsOf(
  { plan, loader, learner, reporter }: Running,
  model: string,
  step: number,
  {
    pause = () => turn(),
    predict = (x) => learner.predict(x),
    isWanted = (domain, part) =>
      plan.settings.evaluateTraining || part !== "in" || plan.settings.testDomains.includes(domain),
  }: { pause?: () => Promise<void> } & Partial<Pick<EvaluateOptions, "predict" | "isWanted">> = {},
): Promise<RunRecord[]> {
  return evaluate({
    ...{ loader, predict, split: plan.split, isWanted, step, model },
    pause: (done, samples) => {
      reporter.progress?.(`evaluating after step ${step}: ${done} of ${samples}`);
      return pause();
    },
  });
}
