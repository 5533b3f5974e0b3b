/** One evaluation of a run: its rows, the followers' look at them, and the best model so far. */

import { setImmediate as turn } from "node:timers/promises";
import type { SplitName } from "../data/split.js";
import { EngineError } from "../errors.js";
import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import { trainDomainsOf } from "../settings/settings.js";
import type { Progress } from "./checkpoint.js";
import { evaluate, validationMean } from "./evaluate.js";
import { writeModel } from "./model-file.js";
import type { Running } from "./running.js";
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
  const current = await rowsOf(run, CURRENT, step, run.pause); // may be stopped in here, and nowhere below
  const bad = current.find(({ value }) => !Number.isFinite(value));
  if (bad) throw new EngineError(`${bad.metric} on ${bad.split} of ${bad.domain} is ${bad.value}`, "evaluate");
  const rows = [...takeLogs(progress, step), ...current, ...run.probe.measure(run.learner, step)];
  const training = trainDomainsOf(plan.settings);
  const validationLoss = validationMean(current, "loss", training);
  for (const follower of run.followers)
    if (follower.atEvaluation(step, validationLoss) === "stop") progress.stopped = true;
  const accuracy = validationMean(current, ACCURACY, training);
  if (!progress.stopped && hasLostPatience(run, { step, accuracy })) progress.stopped = true;
  for (const [i, follower] of run.followers.entries())
    if (last || progress.stopped || plan.averaging[i].evaluated === "always")
      rows.push(...(await withAverage(run, follower, () => rowsOf(run, follower.id, step))));
  folder.checkOwner();
  keep(rows);
  if (!isBetter({ step, accuracy }, progress.best)) return;
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
  pause: () => Promise<void> = () => turn(),
): Promise<RunRecord[]> {
  const { evaluateTraining, testDomains } = plan.settings;
  const isWanted = (domain: string, part: SplitName): boolean =>
    evaluateTraining || part !== "in" || testDomains.includes(domain);
  return evaluate({
    ...{ loader, predict: (x) => learner.predict(x), split: plan.split, isWanted, step, model },
    pause: (done, samples) => {
      reporter.progress?.(`evaluating after step ${step}: ${done} of ${samples}`);
      return pause();
    },
  });
}
