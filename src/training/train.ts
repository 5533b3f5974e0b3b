/**
 * One run, from its settings to its records and weights: the loop in plain sight.
 *
 * An update, the followers' look at it, and at every evaluation: rows to `records.jsonl`, then the checkpoint. In this order a
 * process may be killed at any moment: what goes on from the checkpoint cuts the records back to it and writes the same
 * again. Nothing in the records depends on when that happened: batches and draws are keyed by step.
 */

import { existsSync, readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { restoreValues, saveValues } from "../algorithms/saved-values.js";
import type { Follower } from "../averaging/index.js";
import { likesChannelsLast } from "../backbones/layout.js";
import { type Batch, byDomain, Loader } from "../data/loader.js";
import type { SplitName } from "../data/split.js";
import { writeFigure } from "../drawing/write-figure.js";
import { checkDevice, memory, setThreads } from "../engine/device.js";
import { Scope, scope } from "../engine/scope.js";
import { EngineError, StoppedError, UsageError } from "../errors.js";
import { makeFolder } from "../files/make-folder.js";
import { replaceFile } from "../files/replace-file.js";
import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import { DONE_FILE } from "../records/run.js";
import { cutRecords, RecordStore, readRecords } from "../records/store.js";
import type { Plan } from "../settings/resolve.js";
import { type Progress, readCheckpoint, writeCheckpoint } from "./checkpoint.js";
import { DeviceUpdates, type Reading } from "./device-updates.js";
import { environment } from "./environment.js";
import { evaluate, validationMean } from "./evaluate.js";
import { EventFile } from "./event-file.js";
import { stepFailed } from "./failure.js";
import { FeatureProbe } from "./feature-measures.js";
import { runFigures } from "./figures.js";
import type { Learner } from "./learner.js";
import { makeLearner } from "./make-learner.js";
import { measureBatchNorm } from "./measure-batch-norm.js";
import { addDistance, plainLoader } from "./model-distance.js";
import { writeModel } from "./model-file.js";
import { addBody } from "./probe-model.js";
import { quietReporter, type Reporter } from "./reporter.js";
import type { RunFolder } from "./run-folder.js";
import { evaluationWords, lostWords, neverActive } from "./run-words.js";
import { openSamples, type Samples } from "./samples.js";

export interface TrainOptions {
  readonly plan: Plan;
  readonly folder: RunFolder;
  readonly reporter?: Reporter;
  /** Asked after every update, and on the way in what takes longer: whether to stop there, with a checkpoint. */
  readonly shouldStop?: () => boolean;
  /** What goes on with a run that was stopped; usual: `nudge train --resume` with its folder. */
  readonly goOn?: string;
  /** The program's version, for the record. */
  readonly version?: string;
  /** Called when the model is written and before the run counts as done, such as to assess it. */
  readonly beforeDone?: (run: EndedRun) => Promise<void>;
}

/** A run whose model is written. The learner may be changed: it is not used any more. */
export interface EndedRun {
  readonly plan: Plan;
  readonly folder: RunFolder;
  readonly samples: Samples;
  readonly learner: Learner;
  /** Pictures that could not be read, and why. */
  readonly lost: ReadonlyMap<string, string>;
  /** To be called between batches: signals and timers have their turn, and it throws where the run is told to stop. */
  readonly pause: () => Promise<void>;
}

export interface TrainOutcome {
  /** False where it was stopped: it can be resumed. */
  readonly done: boolean;
  /** Updates made. */
  readonly steps: number;
  readonly best: Progress["best"];
}

/** Between evaluations, so much work at most is lost to a kill. */
const CHECKPOINT_MS = 10 * 60_000;

/** On a GPU, reading numbers makes the host wait until all steps before are done: so seldom, and before evaluations. */
const READ_MS = 1000;

/** Trains a run from its start or from its checkpoint. The folder must be owned, and hold the plan's settings. */
export async function train(options: TrainOptions): Promise<TrainOutcome> {
  const { plan, folder, version = "unknown" } = options;
  const { settings, dataset } = plan;
  checkDevice(settings.device);
  setThreads(settings.threads);
  folder.sweep();
  folder.writeEnvironment(environment(settings.device, version));
  makeFolder(folder.file("checkpoint"));
  const { reporter = quietReporter, shouldStop } = options;
  const say = (text: string): void => tellOf(folder, reporter, text);
  using samples = await openSamples(plan, { say, progress: (text) => reporter.progress?.(text), shouldStop });
  if (samples === null) {
    say(
      `stopped before ${existsSync(folder.lastCheckpoint) ? "its next" : "the first"} step; go on with: ${waysOn(options)}`,
    );
    return { done: false, steps: 0, best: null };
  }
  const reading = {
    ...samples,
    seed: settings.seed,
    trainDomains: trainDomainsOf(plan),
    batchSize: settings.hparams.batchSize as number,
    classBalanced: settings.hparams.classBalanced as boolean,
    augmentation: settings.hparams.dataAugmentation ? undefined : null,
    augmentValidation: settings.augmentValidation,
    device: settings.device,
    channelsLast: likesChannelsLast(settings),
    steps: settings.steps,
  };
  const loader = new Loader(reading);
  using learner = makeLearner(plan, samples.makeBackbone);
  const followers = plan.averaging.map((definition, i) => definition(settings.averaging[i].settings, dataset.id));
  try {
    if (trainDomainsOf(plan).every((name) => plan.split.get(name)?.out.length === 0))
      throw new UsageError(
        `holdout ${settings.holdout}: no pictures of the training domains are left for validation; hold back more of them (holdout=0.5), or add pictures`,
      );
    using probe = await FeatureProbe.read(loader, trainDomainsOf(plan), settings.testDomains, settings.measures);
    const ofSamples = { ...options, plan: { ...plan, split: samples.split } };
    const plain = plainLoader(reading);
    using run = new Run(ofSamples, samples, loader, plain, learner, followers, probe);
    return await run.toTheEnd();
  } finally {
    for (const follower of followers) follower.dispose();
  }
}

const trainDomainsOf = ({ settings: { domains, testDomains } }: Plan): string[] =>
  domains.filter((name) => !testDomains.includes(name));

const waysOn = ({ goOn, folder }: TrainOptions): string => goOn ?? `nudge train --resume ${folder.path}`;

/**
 * Whether an evaluation goes before the best so far. Of equals the first is taken, as selection takes it; but not the one after
 * a single update, which few validation pictures may not tell from a trained model.
 */
export function isBetter({ accuracy }: Evaluated, best: Evaluated | null): boolean {
  return best === null || accuracy > best.accuracy || (best.step === 0 && accuracy === best.accuracy);
}

type Evaluated = NonNullable<Progress["best"]>;

/** Whether updates may be replayed as CUDA graphs: unless `NUDGE_CUDA_GRAPHS=0` says otherwise, to compare. */
const mayCapture = (): boolean => process.env.NUDGE_CUDA_GRAPHS !== "0";

class Run implements Disposable {
  private readonly store: RecordStore;
  private readonly events: EventFile;
  private readonly reporter: Reporter;
  private progress: Progress = { next: 0, stopped: false, logs: { sums: {}, count: 0 }, best: null };
  private readonly clock = {
    start: performance.now(),
    waited: 0,
    updates: 0,
    pictures: 0,
    saved: performance.now(),
    read: 0,
  };
  private readonly onDevice: DeviceUpdates | null;
  /** Between two checkpoints at evaluations: a GPU comes to the next one in seconds, and writing takes one. */
  private readonly restMs: number;
  private loss = Number.NaN;

  constructor(
    private readonly options: TrainOptions,
    private readonly samples: Samples,
    private readonly loader: Loader,
    private readonly plain: Loader,
    readonly learner: Learner,
    readonly followers: readonly Follower[],
    private readonly probe: FeatureProbe,
  ) {
    this.store = new RecordStore(options.folder.records);
    this.events = new EventFile(options.folder.file("events"));
    this.reporter = options.reporter ?? quietReporter;
    const { device } = options.plan.settings;
    const say = (text: string): void => this.say(text);
    this.restMs = device === "cpu" ? 0 : 15_000;
    this.onDevice = device === "cpu" ? null : new DeviceUpdates(learner, { device, capture: mayCapture(), say });
  }

  [Symbol.dispose](): void {
    this.onDevice?.[Symbol.dispose]();
  }

  async toTheEnd(): Promise<TrainOutcome> {
    const { plan, shouldStop = () => false } = this.options;
    const { steps, evaluateEvery, evaluateFirst, checkpointEvery } = plan.settings;
    this.pickUp();
    const notes = [...plan.dataset.notes, ...this.loader.notes, ...neverActive(plan)];
    for (const note of notes) this.say(`note: ${note}`);
    while (this.progress.next < steps && !this.progress.stopped) {
      const step = this.progress.next;
      if (!this.progress.updated) await this.failingWith(step, () => this.update(step));
      const last = step === steps - 1;
      const evaluates = last || (step % evaluateEvery === 0 && (step > 0 || evaluateFirst));
      this.progress.updated = true; // stopped in its evaluation, the run goes on with that
      if (evaluates && !(await unlessStopped(() => this.failingWith(step, () => this.evaluate(step, last))))) {
        this.save();
        return this.stoppedAfter(step);
      }
      delete this.progress.updated;
      this.progress.next = step + 1;
      const due = checkpointEvery > 0 && this.progress.next % checkpointEvery === 0;
      const stop = shouldStop();
      const since = performance.now() - this.clock.saved;
      if ((evaluates && since > this.restMs) || due || stop || last || since > CHECKPOINT_MS) this.save();
      if (stop && !last && !this.progress.stopped) return this.stoppedAfter(step);
      await turn(); // signals and timers have their turn
    }
    // All of it is made anew when the run goes on.
    if (!(await unlessStopped(() => this.finish()))) return this.stoppedAfter(this.progress.next - 1);
    return { done: true, steps: this.progress.next, best: this.progress.best };
  }

  private stoppedAfter(step: number): TrainOutcome {
    this.say(`stopped after step ${step}; go on with: ${waysOn(this.options)}`);
    return { done: false, steps: step + 1, best: this.progress.best };
  }

  /** Between batches of what takes long: signals and timers have their turn, and a wish to stop ends it. */
  private readonly pause = async (): Promise<void> => {
    await turn();
    if (this.options.shouldStop?.()) throw new StoppedError("told to stop");
  };

  /** Goes on from the checkpoint, or begins; records are cut back to it. */
  private pickUp(): void {
    const { plan, folder } = this.options;
    if (existsSync(folder.lastCheckpoint))
      this.progress = readCheckpoint(folder.lastCheckpoint, plan.settings.hash, this);
    folder.checkOwner();
    const cut = cutRecords(folder.records, this.progress.next - 1);
    folder.cutTiming(this.progress.next - 1);
    if (cut.torn) this.say("note: the last record was half written, as after a kill; it was dropped");
    if (cut.kept > 0) this.events.add(readRecords(folder.records).records);
    const made = this.progress.next + (this.progress.updated ? 1 : 0);
    if (made > 0) this.say(`resumed after step ${made - 1}`);
  }

  private async update(step: number): Promise<void> {
    const { settings } = this.options.plan;
    const asked = performance.now();
    using batch = await this.loader.batch(step);
    // With the pictures on a GPU this only starts work there, behind the last update, which goes on meanwhile.
    if ((this.samples.pictures?.device ?? "cpu") === "cpu") this.clock.waited += performance.now() - asked;
    this.updateOn(batch, step);
    const parameters = this.followers.length > 0 ? this.learner.parameters() : new Map();
    for (const follower of this.followers) follower.afterUpdate(step, parameters);
    this.clock.updates++;
    this.clock.pictures += batch.x.rows;
    const seconds = (performance.now() - this.clock.start) / 1000;
    const progress = {
      step: step + 1,
      steps: settings.steps,
      left: ((settings.steps - step - 1) * seconds) / this.clock.updates,
    };
    this.options.folder.progress(progress);
    this.reporter.status({
      ...progress,
      loss: this.loss,
      rate: this.clock.pictures / seconds,
      waiting: this.clock.waited / 1000 / seconds,
      memory: memory(settings.device).peak,
    });
  }

  private updateOn(batch: Batch, step: number): void {
    scope(() => {
      const domains = byDomain(batch);
      if (this.onDevice) this.onDevice.update({ domains, x: batch.x, y: batch.y }, step);
      else this.account({ sums: this.learner.update(domains, step), count: 1 });
    });
    if (performance.now() - this.clock.read > READ_MS) this.collect();
  }

  /** Takes in the scalars that are still on the device. */
  private collect(): void {
    if (this.onDevice) this.account(this.onDevice.read());
    this.clock.read = performance.now();
  }

  private account({ sums, count }: Reading): void {
    if (count === 0) return;
    const { logs } = this.progress;
    for (const [name, sum] of Object.entries(sums)) {
      if (!Number.isFinite(sum)) throw new EngineError(`${name} is ${sum}`, "loss");
      logs.sums[name] = (logs.sums[name] ?? 0) + sum;
    }
    logs.count += count;
    this.loss = (sums.loss ?? Number.NaN) / count;
  }

  /** A computation that fails or gives no finite numbers ends the run, with the step's batch and weights to look into. */
  private async failingWith(step: number, action: () => Promise<void>): Promise<void> {
    const { folder } = this.options;
    try {
      await action();
    } catch (cause) {
      if (!(cause instanceof EngineError)) throw cause;
      using batch = await this.loader.batch(step); // the same one again
      const error = stepFailed(folder, { step, batch, learner: this.learner, cause });
      folder.log(error.message);
      throw error;
    }
  }

  private async evaluate(step: number, last: boolean): Promise<void> {
    const { plan, folder } = this.options;
    const begun = performance.now();
    this.collect();
    // May be stopped in here, and nowhere below: up to here nothing has changed that the evaluation, made anew, would not find.
    const current = await this.rowsOf(CURRENT, step, this.pause);
    const bad = current.find(({ value }) => !Number.isFinite(value));
    if (bad) throw new EngineError(`${bad.metric} on ${bad.split} of ${bad.domain} is ${bad.value}`, "evaluate");
    const { sums, count } = this.progress.logs;
    const logged = Object.entries(sums).map(
      ([metric, sum]): RunRecord => ({ step, model: CURRENT, domain: null, split: null, metric, value: sum / count }),
    );
    this.progress.logs = { sums: {}, count: 0 };
    const rows = [...logged, ...current, ...this.probe.measure(this.learner, step)];
    const training = trainDomainsOf(plan);
    const validationLoss = validationMean(current, "loss", training);
    for (const follower of this.followers)
      if (follower.atEvaluation(step, validationLoss) === "stop") this.progress.stopped = true;
    const ends = last || this.progress.stopped;
    for (const [i, follower] of this.followers.entries())
      if (ends || plan.averaging[i].evaluated === "always")
        rows.push(...(await this.asAverage(follower, () => this.rowsOf(follower.id, step))));
    folder.checkOwner();
    this.store.append(rows);
    this.events.add(rows);
    const accuracy = validationMean(current, ACCURACY, training);
    if (isBetter({ step, accuracy }, this.progress.best)) {
      this.progress.best = { step, accuracy };
      this.writeModel(folder.bestCheckpoint, CURRENT, step);
    }
    this.tell(step, rows, begun);
  }

  private rowsOf(model: string, step: number, pause: () => Promise<void> = () => turn()): Promise<RunRecord[]> {
    const { split, settings } = this.options.plan;
    const { evaluateTraining, testDomains } = settings;
    const isWanted = (domain: string, part: SplitName): boolean =>
      evaluateTraining || part !== "in" || testDomains.includes(domain);
    const predict = this.learner.predict.bind(this.learner);
    return evaluate({
      ...{ loader: this.loader, predict, split, isWanted, step, model },
      pause: (done, samples) => {
        this.reporter.progress?.(`evaluating after step ${step}: ${done} of ${samples}`);
        return pause();
      },
    });
  }

  /** Does something with a follower's average in the place of the trained weights. */
  private async asAverage<T>(follower: Follower, action: () => T | Promise<T>): Promise<T> {
    const { seed, steps, hparams, batchNormBatches: batches } = this.options.plan.settings;
    using kept = new Scope();
    const saved = kept.run(() => saveValues([this.learner.root]));
    try {
      scope(() => this.learner.root.loadStateDict(follower.weights(), { ignoreMissing: () => true }));
      // As in SWAD's code: with a frozen backbone, what else has batch norm keeps the trained model's statistics.
      if (!hparams.freezeBatchNorm) await measureBatchNorm(this.learner, this.loader, { step: steps, seed, batches });
      return await action();
    } finally {
      restoreValues(saved);
    }
  }

  private tell(step: number, rows: readonly RunRecord[], begun: number): void {
    const { plan, folder } = this.options;
    const { device, testDomains } = plan.settings;
    const now = performance.now();
    const { start, waited, updates, pictures } = this.clock;
    folder.timing({
      step,
      seconds: (now - start) / 1000,
      evaluation: (now - begun) / 1000,
      waited: waited / 1000,
      updates,
      pictures,
      memory: memory(device).peak,
    });
    const domains = { testDomains, trainDomains: trainDomainsOf(plan) };
    for (const line of evaluationWords(step, rows, domains)) this.say(line);
  }

  private save(): void {
    const { plan, folder } = this.options;
    this.collect();
    folder.checkOwner();
    writeCheckpoint(folder.lastCheckpoint, plan.settings.hash, this.progress, this);
    this.clock.saved = performance.now();
  }

  private writeModel(path: string, model: string, step: number): void {
    const { plan, folder } = this.options;
    folder.checkOwner();
    writeModel(path, { plan, learner: this.learner, sample: this.probe.sample(), model, step });
  }

  /** The model for use: the average where one was kept, else the best by training-domain validation. */
  private async finish(): Promise<void> {
    const { folder, plan } = this.options;
    const [first] = this.followers;
    if (!first) {
      const best = readFileSync(folder.bestCheckpoint);
      replaceFile(folder.file("model.safetensors"), (write) => write(best));
    }
    for (const follower of this.followers) {
      const name = follower === first ? "model.safetensors" : `model-${follower.id}.safetensors`;
      await this.asAverage(follower, () => this.writeModel(folder.file(name), follower.id, this.progress.next - 1));
      const { count, from, to } = follower.summary();
      this.say(`${follower.id}: the average of ${count}, from step ${from} to ${to}`);
    }
    for (const path of folder.models()) {
      if (plan.settings.probe) addBody(path, plan);
      await this.addDistance(path);
    }
    const lost = this.tellLost();
    for (const { name, svg } of runFigures(readRecords(folder.records).records, plan.settings))
      await writeFigure(svg, folder.file("figures", name));
    const { best } = this.progress;
    const { samples, learner, pause } = this;
    await this.options.beforeDone?.({ plan, folder, samples, learner, lost, pause });
    folder.checkOwner();
    folder.writeJson(DONE_FILE, { step: this.progress.next - 1, best, hash: plan.settings.hash });
  }

  /** Tells of pictures that could not be read, and returns them: how many, and one of them; the log has all. */
  private tellLost(): ReadonlyMap<string, string> {
    const lost = [...new Map([...this.samples.lost, ...this.loader.skipped, ...this.plain.skipped])].sort();
    for (const [name, problem] of lost) this.options.folder.log(`left out ${name}: ${problem}`);
    if (lost.length > 0) this.say(lostWords(lost));
    return new Map(lost);
  }

  /** Lets a model of the run say how far a picture lies from the training domains. */
  private async addDistance(path: string): Promise<void> {
    const { plan, folder } = this.options;
    const { device } = plan.settings;
    folder.checkOwner();
    await addDistance(path, { loader: this.plain, trainDomains: trainDomainsOf(plan), device, pause: this.pause });
  }

  private say(text: string): void {
    tellOf(this.options.folder, this.reporter, text);
  }
}

/** Does something to its end, and returns true; false where it was told to stop on the way. */
async function unlessStopped(action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    if (error instanceof StoppedError) return false;
    throw error;
  }
}

/** Something to be read now, and in the log later. */
function tellOf(folder: RunFolder, reporter: Reporter, text: string): void {
  folder.log(text);
  reporter.line(text);
}
