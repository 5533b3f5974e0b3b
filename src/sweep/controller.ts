/**
 * Keeps slots of this machine busy with the runs of a sweep: starts processes of `nudge sweep work`, replaces those
 * that die, and ends when every run is done or has failed. It loads no engine, executes no run and has no state that is
 * not on disk: it can be killed, and several can work on the same folder.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { DataError } from "../errors.js";
import { cancelToken } from "./cancel-marks.js";
import { Claims } from "./claim.js";
import { availableMemory, FIRST_GUESS, memoryNeeded } from "./memory.js";
import type { ListedRun } from "./run-list.js";
import type { WorkEvent, WorkRules } from "./work.js";
import { ruleWords } from "./work-words.js";
import { type Ended, type Slot, WorkerProcess } from "./worker-process.js";

/** A request to stop: 1 after a checkpoint, 2 immediately. */
export interface StopWish {
  readonly level: 0 | 1 | 2;
}

export interface ControlOptions {
  readonly folder: string;
  readonly runs: readonly ListedRun[];
  readonly slots: readonly Slot[];
  readonly rules: WorkRules;
  /** The command that starts `nudge`. */
  readonly program: readonly string[];
  /** The maximum number of runs to execute; null for all. */
  readonly most: number | null;
  /** The position in the plan at which to start. */
  readonly first: number;
  /**
   * Whether to wait while other processes work on the last runs, which they might not finish; otherwise only until they
   * show activity.
   */
  readonly stay: boolean;
  /** The cancel token under which it was launched. */
  readonly cancelToken: string;
  readonly stop: StopWish;
  /** The free memory in bytes; by default it is read from the system. */
  readonly available?: () => number;
  readonly onEvent: (event: WorkEvent, slot: Slot) => void;
  readonly say: (line: string) => void;
}

/** Why a controller ended. */
export type ControlEnd = "settled" | "enough" | "stopped" | "cancelled" | "too many failures";

/** Milliseconds between two checks. */
const TICK_MS = 250;

/** Claims of other processes are checked less often, because they may be on a slow network file system. */
const WATCH_MS = 2_000;

/** The number of consecutive processes that may end before they start a run, because of an error or because they were killed. */
const BAD_STARTS = { error: 2, killed: 10 };

/** Executes a sweep, as far as this machine can. */
export function control(options: ControlOptions): Promise<ControlEnd> {
  return new Controller(options).toTheEnd();
}

class Controller {
  private readonly claims: Claims;
  private readonly workers = new Set<WorkerProcess>();
  private free: Slot[];
  private largest = 0;
  /** The number of runs that finished or failed permanently in processes of this controller. */
  private settled = 0;
  private badStarts = 0;
  private saidMemoryIsShort = false;
  private tooManyFailures = false;
  private failure: Error | undefined;

  constructor(private readonly options: ControlOptions) {
    this.claims = new Claims(options.folder, options.runs, options.first);
    this.free = [...options.slots];
  }

  async toTheEnd(): Promise<ControlEnd> {
    try {
      for (;;) {
        const end = await this.turn();
        if (end !== undefined) return end;
      }
    } finally {
      for (const worker of this.workers) worker.stop();
      await Promise.allSettled([...this.workers].map((worker) => worker.ended));
    }
  }

  private async turn(): Promise<ControlEnd | undefined> {
    const { stop, folder, most, stay } = this.options;
    if (this.failure) throw this.failure;
    const cancelled = cancelToken(folder) !== this.options.cancelToken;
    if (stop.level > 0 || cancelled) {
      await this.endWorkers();
      return stop.level > 0 ? "stopped" : "cancelled";
    }
    const spent = most !== null && this.settled + this.workers.size >= most;
    const ending = spent || this.tooManyFailures;
    if (!ending && this.free.length > 0 && this.hasWork()) {
      if (this.hasMemory()) this.start();
      else await this.pause(WATCH_MS);
      return undefined;
    }
    if (this.workers.size > 0) {
      await this.pause(this.free.length > 0 ? WATCH_MS : TICK_MS);
      return undefined;
    }
    if (this.tooManyFailures) return "too many failures";
    if (spent) return "enough";
    if (!this.claims.anyTaken({ evenIfBeating: stay })) return "settled";
    await this.pause(WATCH_MS);
    return undefined;
  }

  /** Waits, but returns at once if something happens: a process ended, or a stop was requested. */
  private async pause(milliseconds: number): Promise<void> {
    const until = performance.now() + milliseconds;
    const before = this.workers.size;
    while (performance.now() < until && this.workers.size === before && this.options.stop.level === 0)
      await sleep(Math.min(TICK_MS, milliseconds));
  }

  /** Whether more runs are waiting than processes are about to claim. */
  private hasWork(): boolean {
    let idle = [...this.workers].filter((worker) => worker.idle).length;
    for (const _ of this.claims.waiting()) if (idle-- === 0) return true;
    return false;
  }

  private hasMemory(): boolean {
    const resident = [...this.workers].map((worker) => worker.resident());
    for (const { peak } of this.workers) this.largest = Math.max(this.largest, peak);
    if (this.workers.size === 0) return true; // one process can always try
    const needed = memoryNeeded(resident, Math.max(this.largest, FIRST_GUESS));
    const available = (this.options.available ?? availableMemory)();
    if (needed > available && !this.saidMemoryIsShort) {
      const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;
      this.options.say(
        `${this.workers.size} at a time for now: one more run could need ${gigabytes(needed)} of memory, but only ${gigabytes(available)} are free`,
      );
      this.saidMemoryIsShort = true;
    }
    return needed <= available;
  }

  private start(): void {
    const { folder, rules, program, most, first, cancelToken: token } = this.options;
    const slot = this.free.shift()!;
    const words = [...program, "sweep", "work", folder, "--threads", String(slot.threads), "--first", String(first)];
    words.push("--launched-under", token, ...ruleWords(rules));
    if (slot.device !== undefined) words.push("--device", slot.device);
    if (most !== null) words.push("--runs", "1");
    const worker = new WorkerProcess(slot, words, (event) => this.heard(event, slot));
    this.workers.add(worker);
    worker.ended.then(
      (ended) => this.ended(worker, ended),
      (error: Error) =>
        this.lost(worker, new DataError(`${program.join(" ")}: could not be started: ${error.message}`)),
    );
  }

  private heard(event: WorkEvent, slot: Slot): void {
    const last = event.event === "done" || event.event === "hopeless" || (event.event === "failed" && !event.again);
    if (last) this.settled++;
    this.options.onEvent(event, slot);
  }

  private ended(worker: WorkerProcess, ended: Ended): void {
    const { why, begun, at, code, signal, stderr } = ended;
    this.release(worker);
    if (why === "too many failures") this.tooManyFailures = true;
    if (why !== undefined || begun) this.badStarts = 0;
    else this.badStarts++;
    if (why !== undefined) return;
    const how = signal === null ? `ended with code ${code}` : `was ended by ${signal}`;
    if (at !== undefined) this.options.say(`the process of run ${at} ${how}; the run resumes from its last checkpoint`);
    const limit = signal === null ? BAD_STARTS.error : BAD_STARTS.killed;
    if (this.badStarts >= limit)
      this.failure = new DataError(
        `no run can be started: ${this.badStarts} processes in a row ended before they started one (the last one ${how}).${stderr.trim() === "" ? "" : ` Its output:\n${stderr.trim()}`}`,
      );
  }

  private lost(worker: WorkerProcess, error: Error): void {
    this.release(worker);
    this.failure = error;
  }

  private release(worker: WorkerProcess): void {
    this.workers.delete(worker);
    this.free.push(worker.slot);
  }

  /** Ends the processes: first normally, then, at a second request, immediately. */
  private async endWorkers(): Promise<void> {
    for (const worker of this.workers) worker.stop();
    while (this.workers.size > 0) {
      if (this.options.stop.level === 2) for (const worker of this.workers) worker.kill();
      await sleep(TICK_MS);
    }
  }
}
