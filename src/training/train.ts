/**
 * The training loop: one run, from its settings to its records and weights.
 *
 * Each step makes an update and notifies the followers. Each evaluation first writes rows to `records.jsonl` and then
 * the checkpoint. With this order a process can be killed at any time: a resumed run truncates the records to the
 * checkpoint and writes the same rows again. The records do not depend on when that happened, because batches and draws
 * only depend on the step.
 */

import { existsSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import type { Follower } from "../averaging/index.js";
import { datasets } from "../data/datasets/index.js";
import { Loader } from "../data/loader.js";
import { checkDevice, memory, setThreads, sleepInWaits } from "../engine/device.js";
import { scope } from "../engine/scope.js";
import { DataError, EngineError, StoppedError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import type { ValidationLoss } from "../optim/index.js";
import { isOwnDataset } from "../records/own-pictures.js";
import type { RunRecord } from "../records/record.js";
import { cutRecords, RecordStore, readRecords } from "../records/store.js";
import { preprocessingWords, publishedFramingOf } from "../settings/preprocessing.js";
import type { Plan } from "../settings/resolve.js";
import { trainDomainsOf } from "../settings/settings.js";
import { type Progress, readCheckpoint, writeCheckpoint } from "./checkpoint.js";
import { DevicePredictions } from "./device-predictions.js";
import type { Reading } from "./device-updates.js";
import { environment } from "./environment.js";
import { evaluateRun } from "./evaluate-run.js";
import { EventFile } from "./event-file.js";
import { setClassifier, setNeighbours, solveNeighbours, solveProbe, startFromProbe } from "./exact-probe.js";
import { stepFailed } from "./failure.js";
import { FeatureProbe } from "./feature-measures.js";
import { finishRun } from "./finish-run.js";
import type { KeptPictures } from "./kept-pictures.js";
import type { Learner } from "./learner.js";
import { makeLearner } from "./make-learner.js";
import { plainLoader } from "./model-distance.js";
import { pauseUnless } from "./pause.js";
import { quietReporter, type Reporter } from "./reporter.js";
import { retrain } from "./retrain.js";
import { readValidated } from "./retrain-length.js";
import type { RunFolder } from "./run-folder.js";
import { evaluationWords, neverActive, sizeWords } from "./run-words.js";
import type { Running } from "./running.js";
import { loaderOptions, openSamples, type Samples } from "./samples.js";
import { checkT3a } from "./t3a-rows.js";
import { Updates } from "./updates.js";

export interface TrainOptions {
  readonly plan: Plan;
  readonly folder: RunFolder;
  readonly reporter?: Reporter;
  /** Called after every update and during longer tasks. Returns true to stop with a checkpoint. */
  readonly shouldStop?: () => boolean;
  /** The command that resumes a stopped run. The default is `nudge train --resume` with its folder. */
  readonly resumeWith?: string;
  /** Pictures that the runs of a process share. By default a run opens its own. */
  readonly kept?: KeptPictures;
  /** The version of the program, which is recorded. */
  readonly version?: string;
  /** Keep the best weights of a run whose model is an average or was trained again, for soups of them. By default only the model stays. */
  readonly keepBest?: boolean;
  /** Called after the model is written and before the run counts as done, for example to evaluate the model. */
  readonly beforeDone?: (run: EndedRun) => Promise<void>;
}

/** A run whose model has been written. The learner may be changed, because it is no longer used. */
export interface EndedRun {
  readonly plan: Plan;
  readonly folder: RunFolder;
  readonly samples: Samples;
  readonly learner: Learner;
  readonly followers: readonly Follower[];
  /** Pictures that could not be read, with the reasons. */
  readonly lost: ReadonlyMap<string, string>;
  /** Must be called between batches: processes signals and timers, and throws an error if the run should stop. */
  readonly pause: () => Promise<void>;
}

export interface TrainOutcome {
  /** False if the run was stopped and can be resumed. */
  readonly done: boolean;
  /** The number of completed updates. */
  readonly steps: number;
  readonly best: Progress["best"];
}

/** The maximum time between checkpoints, and so the most work that a kill can lose. */
const CHECKPOINT_MS = 10 * 60_000;

/**
 * The minimum time between two checkpoints at evaluations on a GPU, which reaches the next evaluation in seconds.
 * Writing one takes about a second.
 */
const GPU_REST_MS = 15_000;

/**
 * Trains a run from its start or from its checkpoint, and then again if its settings say so. The folder must be owned and
 * contain the plan's settings.
 */
export async function train(options: TrainOptions): Promise<TrainOutcome> {
  const { settings } = options.plan;
  if (!settings.retrain) return trainOnce(options);
  if (!readValidated(options.folder.path)) {
    const outcome = await trainOnce(options);
    if (!outcome.done) return outcome;
  }
  return retrain(options, trainOnce);
}

async function trainOnce(options: TrainOptions): Promise<TrainOutcome> {
  const { plan, folder, reporter = quietReporter, shouldStop = () => false, version = "unknown" } = options;
  const { settings, dataset } = plan;
  checkDevice(settings.device);
  sleepInWaits(settings.device);
  setThreads(settings.threads);
  folder.sweep();
  folder.writeEnvironment(await environment(settings.device, version));
  makeFolder(folder.file("checkpoint"));
  const say = (text: string): void => {
    folder.log(text);
    reporter.line(text);
  };
  const { kept } = options;
  using samples = await openSamples(plan, { say, progress: (text) => reporter.progress?.(text), shouldStop, kept });
  if (samples === null) {
    const next = existsSync(folder.lastCheckpoint) ? "its next" : "the first";
    say(`stopped before ${next} step; resume with: ${resumeCommand(options)}`);
    return { done: false, steps: 0, best: null };
  }
  const reading = loaderOptions(plan, samples);
  using loader = new Loader(reading);
  using plain = plainLoader(reading);
  const losses: ValidationLoss[] = [];
  using learner = makeLearner({ ...plan, split: samples.split }, samples.makeBackbone, {}, losses);
  const followers = plan.averaging.map((definition, i) => definition(settings.averaging[i].settings, dataset.id));
  const pause = pauseUnless(shouldStop);
  try {
    checkValidation(plan);
    if (settings.headFirst === true && !existsSync(folder.lastCheckpoint)) {
      const extraction = { say, progress: (text: string) => reporter.progress?.(text), shouldStop };
      if (!(await unlessStopped(() => startFromProbe(plan, learner, extraction)))) {
        say(`stopped before the first step; resume with: ${resumeCommand(options)}`);
        return { done: false, steps: 0, best: null };
      }
    }
    using probe = await FeatureProbe.read(loader, reading.trainDomains, settings.testDomains, settings.measures);
    if (settings.t3a !== undefined) checkT3a(learner, probe.sample(), { ...plan.algorithm, ...settings });
    using predictions = new DevicePredictions(learner, { device: settings.device, capture: mayCapture(), say });
    const progress: Progress = { next: 0, stopped: false, logs: { sums: {}, count: 0 }, records: 0, best: null };
    const running: Running = {
      ...{ plan: { ...plan, split: samples.split }, folder, reporter, samples, loader, plain },
      ...{ learner, predictions, followers, probe, progress, losses, say, pause },
    };
    using loop = new Loop(running, options);
    return await loop.runToEnd();
  } finally {
    for (const follower of followers) follower.dispose();
  }
}

function checkValidation({ settings, split }: Plan): void {
  if (trainDomainsOf(settings).some((name) => split.get(name)?.out.length !== 0)) return;
  throw new UsageError(
    `holdout ${settings.holdout}: no pictures of the training domains are left for validation; hold out more of them (holdout=0.5), or add pictures`,
  );
}

const resumeCommand = ({ resumeWith, folder }: TrainOptions): string =>
  resumeWith ?? `nudge train --resume ${folder.path}`;

/** Returns true if updates and predictions may be replayed as CUDA graphs. `NUDGE_CUDA_GRAPHS=0` disables this for comparisons. */
const mayCapture = (): boolean => process.env.NUDGE_CUDA_GRAPHS !== "0";

class Loop implements Disposable {
  private readonly store: RecordStore;
  private readonly events: EventFile;
  private readonly updates: Updates;
  private readonly start = performance.now();
  private saved = performance.now();

  constructor(
    private readonly run: Running,
    private readonly options: TrainOptions,
  ) {
    const { folder, learner, loader, plan, say } = run;
    this.store = new RecordStore(folder.records);
    this.events = new EventFile(folder.file("events"));
    const { device } = plan.settings;
    const onLogs = (reading: Reading): void => this.addLogs(reading);
    this.updates = new Updates(learner, loader, { device, capture: mayCapture(), say, onLogs });
  }

  [Symbol.dispose](): void {
    this.updates[Symbol.dispose]();
  }

  private sayPreprocessing(): void {
    const { plan, say } = this.run;
    const about = { isOwn: isOwnDataset(plan.dataset.id), published: publishedFramingOf(plan.settings) };
    const words = preprocessingWords(plan.settings, about);
    if (words !== undefined) say(words);
  }

  async runToEnd(): Promise<TrainOutcome> {
    const { run, options } = this;
    const { steps, checkpointEvery, device } = run.plan.settings;
    this.resumeOrStart();
    for (const note of [...run.plan.dataset.notes, ...run.loader.notes, ...neverActive(run.plan)])
      run.say(`note: ${note}`);
    if (run.plan.settings.probe !== "exact" && run.progress.next === 0) run.say(sizeWords(run.learner.size()));
    if (run.progress.next === 0) this.sayPreprocessing();
    if (run.progress.next === 0 && !run.progress.updated)
      for (const follower of run.followers) follower.begin?.(run.learner.parameters());
    if (run.plan.settings.probe === "exact" && run.progress.next === 0)
      if (!(await unlessStopped(() => this.failingWith(0, () => this.solve())))) return this.stoppedAfter(-1);
    const { progress } = run;
    const rest = device === "cpu" ? 0 : GPU_REST_MS;
    while (progress.next < steps && !progress.stopped) {
      const first = progress.next;
      const step = progress.updated ? first : await this.failingWith(first, () => this.update(first));
      progress.next = step;
      const last = step === steps - 1;
      const evaluates = this.evaluatesAfter(step);
      progress.updated = true; // if the run is stopped during the evaluation, it resumes with it
      if (evaluates && !(await unlessStopped(() => this.failingWith(step, () => this.evaluate(step, last))))) {
        this.save();
        return this.stoppedAfter(step);
      }
      delete progress.updated;
      progress.next = step + 1;
      const due = checkpointEvery > 0 && progress.next % checkpointEvery === 0;
      const stop = options.shouldStop?.() ?? false;
      const since = performance.now() - this.saved;
      if ((evaluates && since > rest) || due || stop || last || since > CHECKPOINT_MS) this.save();
      if (stop && !last && !progress.stopped) return this.stoppedAfter(step);
      await turn(); // processes signals and timers
    }
    const beforeDone = (lost: ReadonlyMap<string, string>) => options.beforeDone?.({ ...run, lost });
    if (!(await unlessStopped(() => finishRun(run, beforeDone, options.keepBest ?? false))))
      return this.stoppedAfter(progress.next - 1);
    return { done: true, steps: progress.next, best: progress.best };
  }

  private evaluatesAfter(step: number): boolean {
    const { steps, evaluateEvery, evaluateFirst } = this.run.plan.settings;
    return step === steps - 1 || (step % evaluateEvery === 0 && (step > 0 || evaluateFirst));
  }

  /** The last step of updates that can be made together: there is nothing to do on the host between them. */
  private lastTogether(step: number): number {
    const { followers, plan } = this.run;
    const { checkpointEvery } = plan.settings;
    if (followers.length > 0) return step;
    let last = step;
    while (!this.evaluatesAfter(last) && !(checkpointEvery > 0 && (last + 1) % checkpointEvery === 0)) last++;
    return last;
  }

  /** Fits the exact probe, which has no steps. */
  private async solve(): Promise<void> {
    const { plan, samples, learner, progress, say } = this.run;
    scope(() => {
      const { fit } = solveProbe(samples, plan, ["in"]);
      setClassifier(learner, fit, plan.algorithm.title);
      if (plan.settings.neighbours) setNeighbours(learner, solveNeighbours(samples, plan, ["in"]));
      progress.logs = { sums: { probeC: fit.c, probeGradient: fit.gradient }, count: 1 };
      const how = plan.settings.probeC === "auto" ? ", chosen on the training domains" : "";
      const end = `${fit.iterations} iterations, largest gradient ${fit.gradient.toExponential(1)}`;
      say(`exact probe: C = ${fit.c}${how}; ${end}`);
    });
    await this.evaluate(0, true);
    progress.next = 1;
    this.save();
  }

  private stoppedAfter(step: number): TrainOutcome {
    this.run.say(
      `stopped ${step < 0 ? "before the first step" : `after step ${step}`}; resume with: ${resumeCommand(this.options)}`,
    );
    return { done: false, steps: step + 1, best: this.run.progress.best };
  }

  /** Resumes from the checkpoint, or starts. Records after the checkpoint are removed. */
  private resumeOrStart(): void {
    const { run } = this;
    const { folder, say } = run;
    if (existsSync(folder.lastCheckpoint)) run.progress = this.readCheckpoint();
    run.losses.push(...(run.progress.losses ?? []));
    const { next, updated, records } = run.progress;
    folder.checkOwner();
    const cut = cutRecords(folder.records, next - 1, records);
    if (records !== undefined && cut.kept < records)
      throw new DataError(
        `${folder.records}: records are missing: the run had written ${records} up to step ${next - 1}, but the file contains ${cut.kept} of them. Restore the file, or start the run again`,
      );
    run.progress.records = cut.kept;
    folder.cutTiming(next - 1);
    if (cut.torn) say("note: the last record was incomplete, as after a kill; it was dropped");
    if (cut.kept > 0) this.events.add(readRecords(folder.records).records);
    const made = next + (updated ? 1 : 0);
    if (made > 0) say(`resumed after step ${made - 1}`);
  }

  /** Reads the last checkpoint, or the previous one if that is damaged. */
  private readCheckpoint(): Progress {
    const { run } = this;
    const { plan, folder, say } = run;
    const read = (path: string): Progress => {
      const progress = readCheckpoint(path, plan.settings.hash, run);
      if (progress.next > plan.settings.steps)
        throw new DataError(
          `${path}: it belongs to step ${progress.next}, but the run has ${plan.settings.steps} steps`,
        );
      return progress;
    };
    try {
      return read(folder.lastCheckpoint);
    } catch (error) {
      if (!(error instanceof DataError) || !existsSync(folder.previousCheckpoint)) throw error;
      say(`note: ${error.message}. Resuming from the checkpoint before it`);
      return read(folder.previousCheckpoint);
    }
  }

  /** Makes the update of a step, or of some, and returns the last step. */
  private async update(first: number): Promise<number> {
    const { learner, followers, folder, reporter, plan } = this.run;
    const step = await this.updates.make(first, this.lastTogether(first));
    const parameters = followers.length > 0 ? learner.parameters() : new Map();
    for (const follower of followers) follower.afterUpdate(step, parameters);
    const { made, pictures, loss } = this.updates;
    const { steps, device } = plan.settings;
    const seconds = (performance.now() - this.start) / 1000;
    const progress = { step: step + 1, steps, left: ((steps - step - 1) * seconds) / made };
    folder.progress(progress);
    const waiting = this.waited / seconds;
    reporter.status({ ...progress, loss, rate: pictures / seconds, waiting, memory: memory(device).peak });
    return step;
  }

  /**
   * The seconds spent waiting for pictures. If the pictures are on a GPU, requesting a batch only enqueues work there.
   */
  private get waited(): number {
    return (this.run.samples.pictures?.device ?? "cpu") === "cpu" ? this.updates.waited / 1000 : 0;
  }

  private addLogs({ sums, count }: Reading): void {
    const { logs } = this.run.progress;
    for (const [name, sum] of Object.entries(sums)) logs.sums[name] = (logs.sums[name] ?? 0) + sum;
    logs.count += count;
  }

  /**
   * Ends the run if a computation fails or gives numbers that are not finite, and saves the step's batch and weights.
   */
  private async failingWith<T>(step: number, action: () => Promise<T>): Promise<T> {
    const { folder, loader, learner } = this.run;
    try {
      return await action();
    } catch (cause) {
      if (!(cause instanceof EngineError)) throw cause;
      using batch = await loader.batch(step); // the same batch again
      const error = stepFailed(folder, { step, batch, learner, cause });
      folder.log(error.message);
      throw error;
    }
  }

  private async evaluate(step: number, last: boolean): Promise<void> {
    const begun = performance.now();
    this.updates.collect();
    let kept: readonly RunRecord[] = [];
    const keep = (rows: readonly RunRecord[]): void => {
      this.store.append(rows);
      this.run.progress.records = (this.run.progress.records ?? 0) + rows.length;
      this.events.add(rows);
      kept = rows;
    };
    await evaluateRun(this.run, { step, last, keep });
    const { plan, folder, say, reporter } = this.run;
    reporter.records?.(kept);
    const { device, testDomains } = plan.settings;
    const now = performance.now();
    const { made: updates, pictures } = this.updates;
    const times = { seconds: (now - this.start) / 1000, evaluation: (now - begun) / 1000, waited: this.waited };
    folder.timing({ step, ...times, updates, pictures, memory: memory(device).peak });
    const { tested } = datasets[plan.settings.dataset] ?? {};
    const domains = { testDomains, trainDomains: trainDomainsOf(plan.settings), tested };
    for (const line of evaluationWords(step, kept, domains)) say(line);
  }

  private save(): void {
    const { plan, folder, progress } = this.run;
    this.updates.collect();
    folder.checkOwner();
    folder.keepLastCheckpoint();
    writeCheckpoint(folder.lastCheckpoint, plan.settings.hash, progress, this.run);
    this.saved = performance.now();
  }
}

/** Runs an action and returns true, or false if it was stopped. */
async function unlessStopped(action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (error instanceof StoppedError) return false;
    throw error;
  }
}
