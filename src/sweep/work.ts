/**
 * One process that executes runs of a sweep, one after another: the engine is loaded once, the pictures of a dataset are
 * opened once for all its runs, and everything it needs is in the folder. It ends when no run is left, when it is asked
 * to stop (after a checkpoint), or after a failed run: a new process continues then, because the state of the engine
 * after a failed computation is unknown.
 */

import { defaultDevice } from "../engine/device.js";
import { StoppedError } from "../errors.js";
import { SettingsMemo } from "../settings/memo.js";
import { KeptPictures } from "../training/kept-pictures.js";
import { beginAttempt, endAttempt, failAttempt, failedRuns, giveUp, NO_ATTEMPTS } from "./attempts.js";
import { cancelToken, isCancelled } from "./cancel-marks.js";
import { type Claim, Claims } from "./claim.js";
import { readyCombinations } from "./combinations.js";
import { HopelessCheck } from "./hopeless.js";
import { ModelKeeper } from "./kept-models.js";
import { makeCombination } from "./make-combination.js";
import { makeRun } from "./make-run.js";
import { namedRuns, readRunList } from "./run-list.js";
import { checkSweepPlaces } from "./sweep-folder.js";

/** The rules for executing a sweep, which are the same for all launchers. */
export interface WorkRules {
  /** The number of retries of a run after an error. */
  readonly retries: number;
  /** No more runs are started after this many have failed. */
  readonly maxFailures: number | null;
  /** The ids of the only runs to execute; null for all runs. */
  readonly only: readonly string[] | null;
  /** Whether draws that are far behind the others of their cell are stopped early. */
  readonly stopHopeless: boolean;
}

export interface WorkOptions extends WorkRules {
  readonly folder: string;
  /** The default is the default device of the engine. */
  readonly device?: string;
  /** The number of threads of runs that are started here. */
  readonly threads: number;
  /** The number of runs after which the process ends; null for no limit. */
  readonly runs: number | null;
  /** The position in the plan at which to start. */
  readonly first: number;
  /** The cancel token at launch. The process stops when the token of the sweep differs from it. */
  readonly cancelToken: string;
  /** Called after every update. */
  readonly shouldStop: () => boolean;
  readonly onEvent: (event: WorkEvent) => void;
  readonly version: string;
}

/** An event of a run, for progress messages. */
export type WorkEvent =
  | { readonly event: "begun"; readonly id: string; readonly resumed: boolean }
  | { readonly event: "done"; readonly id: string; readonly seconds: number }
  | { readonly event: "stopped"; readonly id: string; readonly step: number }
  | { readonly event: "hopeless"; readonly id: string; readonly why: string }
  | { readonly event: "failed"; readonly id: string; readonly error: string; readonly again: boolean }
  | { readonly event: "combined"; readonly id: string; readonly kind: string; readonly members: readonly string[] }
  | { readonly event: "not combined"; readonly id: string; readonly kind: string; readonly error: string }
  | { readonly event: "end"; readonly why: WorkEnd };

/** Why a process stopped working. */
export type WorkEnd = "nothing left" | "enough" | "asked to stop" | "after a failure" | "too many failures";

/** Milliseconds between two checks for marks on disk. */
const LOOK_MS = 1_000;

/** Executes runs until there is a reason to end. */
export async function work(options: WorkOptions): Promise<WorkEnd> {
  using work = new Work(options);
  const why = await work.toTheEnd();
  options.onEvent({ event: "end", why });
  return why;
}

class Work implements Disposable {
  private readonly memo = new SettingsMemo();
  private readonly kept = new KeptPictures();
  private readonly device: string;
  private readonly claims: Claims;
  private readonly models: ModelKeeper;
  /** The ids of combinations that could not be created. */
  private readonly uncombined = new Set<string>();

  constructor(private readonly options: WorkOptions) {
    checkSweepPlaces(options.folder);
    this.device = options.device ?? defaultDevice();
    this.models = new ModelKeeper(options.folder);
    const all = readRunList(options.folder);
    this.claims = new Claims(options.folder, options.only ? namedRuns(all, options.only) : all, options.first);
  }

  [Symbol.dispose](): void {
    this.kept[Symbol.dispose]();
  }

  async toTheEnd(): Promise<WorkEnd> {
    const { folder, runs, maxFailures, shouldStop } = this.options;
    for (let made = 0; made !== runs; made++) {
      await this.combine();
      if (shouldStop() || this.sweepCancelled()) return "asked to stop";
      if (maxFailures !== null && failedRuns(folder).length >= maxFailures) return "too many failures";
      const claim = this.claims.next();
      if (!claim) return "nothing left";
      using _ = claim.folder;
      const end = await this.make(claim);
      if (end !== null) return end;
    }
    await this.combine();
    return "enough";
  }

  /** Creates the soups and ensembles whose runs are done; the process that finishes the last run does this. A failed one is not tried again here. */
  private async combine(): Promise<void> {
    const { folder, threads, onEvent } = this.options;
    const { device, memo } = this;
    const shouldStop = (): boolean => this.options.shouldStop() || this.sweepCancelled();
    for (const combination of readyCombinations(folder)) {
      const { id, kind, members } = combination;
      if (this.uncombined.has(id) || shouldStop()) continue;
      try {
        if (await makeCombination(combination, { sweep: folder, device, threads, memo, shouldStop }))
          onEvent({ event: "combined", id, kind, members: members.map((member) => member.id) });
      } catch (error) {
        if (error instanceof StoppedError) return;
        this.uncombined.add(id);
        onEvent({ event: "not combined", id, kind, error: (error as Error).message });
      }
    }
  }

  /** Executes a run; returns the reason to end after it, or null. */
  private async make(claim: Claim): Promise<WorkEnd | null> {
    const { folder, threads, retries, stopHopeless, onEvent, version } = this.options;
    const { id } = claim.run;
    const { verdict, last } = beginAttempt(folder, id, claim.folder.path, retries);
    if (verdict !== null) {
      onEvent({ event: "failed", id, error: last?.error ?? "", again: false });
      return null;
    }
    const begun = performance.now();
    onEvent({ event: "begun", id, resumed: claim.folder.isBegun });
    const hopeless = stopHopeless ? new HopelessCheck(folder, claim.folder.path) : undefined;
    const marks = this.watchMarks(id);
    const shouldStop = (): boolean => marks.stop() || hopeless?.verdict() !== undefined;
    try {
      const { device, memo, kept } = this;
      const outcome = await makeRun(claim, { sweep: folder, device, threads, memo, kept, shouldStop, version });
      const why = outcome.done ? undefined : hopeless?.verdict();
      if (why !== undefined) {
        giveUp(folder, id, why);
        onEvent({ event: "hopeless", id, why });
        return null;
      }
      endAttempt(folder, id);
      if (outcome.done) this.models.afterRun(claim.run);
      if (outcome.done) onEvent({ event: "done", id, seconds: (performance.now() - begun) / 1000 });
      else onEvent({ event: "stopped", id, step: outcome.steps });
      return outcome.done || marks.thisRunOnly() ? null : "asked to stop";
    } catch (error) {
      const attempts = claim.folder.isOwned ? failAttempt(folder, id, error, retries) : NO_ATTEMPTS;
      const text = attempts.last?.error ?? String(error);
      onEvent({ event: "failed", id, error: text, again: attempts.verdict === null });
      return "after a failure";
    } finally {
      marks.end();
    }
  }

  private sweepCancelled(): boolean {
    return cancelToken(this.options.folder) !== this.options.cancelToken;
  }

  /** Whether a run should stop. Marks on disk are checked periodically, and signals at every call. */
  private watchMarks(id: string): { stop(): boolean; thisRunOnly(): boolean; end(): void } {
    let [all, one] = [false, false];
    const timer = setInterval(() => {
      all ||= this.sweepCancelled();
      one ||= isCancelled(this.options.folder, id);
    }, LOOK_MS);
    return {
      stop: () => all || one || this.options.shouldStop(),
      thisRunOnly: () => one && !all && !this.options.shouldStop(),
      end: () => clearInterval(timer),
    };
  }
}
