/**
 * Trains a run again on all pictures of its training domains, validation pictures included (`retrain=true`), after
 * validation has chosen the number of steps. ERM++ is trained this way (Teterwak et al., 2023,
 * https://arxiv.org/abs/2304.01973), and so is DomainBed's loop for it.
 *
 * The second training is a run in the folder `retrained` of the first one, which is stopped and resumed like any other.
 * Its accuracies on held-out domains become rows of the model `retrained`. The validation accuracies of these rows are
 * those of the first training at the chosen step: what the second training gets on pictures that it was trained on says
 * nothing. Held-out accuracies are on the same pictures as those of all other rows; DomainBed's loop uses the whole domain.
 */

import { DataError } from "../errors.js";
import { canonicalJson, textHash } from "../files/canonical-json.js";
import { readBytes } from "../files/open-file.js";
import { replaceFile } from "../files/replace-file.js";
import { CURRENT, formatRecord, type RunRecord } from "../records/record.js";
import { DONE_FILE, RETRAINED } from "../records/run.js";
import { readRecords } from "../records/store.js";
import { type Plan, withValidation } from "../settings/resolve.js";
import type { TrainSettings } from "../settings/settings.js";
import { dropCheckpoint } from "./finish-run.js";
import type { Reporter } from "./reporter.js";
import { type RetrainLength, readValidated, retrainLength } from "./retrain-length.js";
import type { RunFolder } from "./run-folder.js";
import { startRun } from "./start-run.js";
import type { TrainOptions, TrainOutcome } from "./train.js";

/** Trains a run again and finishes it. `trainOnce` is the training loop. */
export async function retrain(
  options: TrainOptions,
  trainOnce: (options: TrainOptions) => Promise<TrainOutcome>,
): Promise<TrainOutcome> {
  const { plan, folder, reporter, keepBest = false } = options;
  const validated = readValidated(folder.path)!;
  const length = retrainLength(plan.settings, validated);
  if (!length) throw new DataError(`${folder.path}: retrain: the run has no evaluation that could choose its length`);
  const say = (text: string): void => {
    folder.log(text);
    reporter?.line(text);
  };
  const started = await startRun(planAgain(plan, length), folder.file(RETRAINED));
  using inner = started.folder;
  if (started.was !== "done") {
    if (started.was === "new")
      say(`training again on all pictures of the training domains, for ${length.last + 1} steps`);
    const outcome = await trainOnce({
      ...options,
      plan: started.plan,
      folder: inner,
      reporter: reporterFor(folder, validated.step + 1, reporter),
      beforeDone: undefined,
      keepBest: false,
      resumeWith: options.resumeWith ?? `nudge train --resume ${folder.path}`,
    });
    if (!outcome.done) return { ...outcome, steps: validated.step + 1 + outcome.steps };
  }
  const rows = retrainedRows(plan.settings, length.last, [folder, inner]);
  const kept = readRecords(folder.records).records.filter(({ model }) => model !== RETRAINED);
  folder.checkOwner();
  replaceFile(folder.records, (write) => write(Buffer.from([...kept, ...rows].map(formatRecord).join(""), "utf8")));
  const model = readBytes(inner.file("model.safetensors"));
  folder.checkOwner();
  replaceFile(folder.file("model.safetensors"), (write) => write(model));
  const { step, best, losses } = validated;
  folder.writeJson(DONE_FILE, { step, best, hash: plan.settings.hash, ...(losses && { losses }) });
  dropCheckpoint(folder, plan.settings, keepBest);
  return { done: true, steps: step + length.last + 2, best };
}

/** The plan of the second training. */
function planAgain(plan: Plan, { last, schedule: repeated }: RetrainLength): Plan {
  const { retrain: _, patience: __, schedule, ...settings } = plan.settings;
  const { retrain: ___, patience: ____, ...request } = settings.request;
  const steps = last + 1;
  const ofSchedule = Object.entries(repeated).map(([name, value]) => [`${schedule?.id}.${name}`, value]);
  const again: TrainSettings = {
    ...settings,
    steps,
    trainOnAll: true,
    ...(schedule && { schedule: { ...schedule, settings: { ...schedule.settings, ...repeated } } }),
    hash: textHash(canonicalJson({ first: settings.hash, steps, repeated })),
    request: { ...request, steps, trainOnAll: true, ...Object.fromEntries(ofSchedule) },
  };
  return { ...plan, settings: again, split: withValidation(plan.split, plan.settings) };
}

/** Shows the progress of both trainings as one. */
const reporterFor = (folder: RunFolder, before: number, reporter: Reporter | undefined): Reporter => ({
  status(status) {
    const whole = { ...status, step: before + status.step, steps: before + status.steps };
    folder.progress({ step: whole.step, steps: whole.steps, left: status.left });
    reporter?.status(whole);
  },
  line: (text) => reporter?.line(`retrained: ${text}`),
  progress: (text) => reporter?.progress?.(text),
});

/** The rows of the retrained model at its last step: validation from the first training, held-out domains from the second. */
function retrainedRows(
  { testDomains }: TrainSettings,
  last: number,
  [first, second]: readonly [RunFolder, RunFolder],
): RunRecord[] {
  const rowsOf = ({ records }: RunFolder): RunRecord[] =>
    readRecords(records).records.filter(
      ({ step, model, domain }) => step === last && model === CURRENT && domain !== null,
    );
  const isHeldOut = ({ domain }: RunRecord): boolean => testDomains.includes(domain ?? "");
  const rows = [
    ...rowsOf(first).filter((row) => !isHeldOut(row) && row.split === "out"),
    ...rowsOf(second).filter(isHeldOut),
  ];
  return rows.map((row) => ({ ...row, model: RETRAINED }));
}
