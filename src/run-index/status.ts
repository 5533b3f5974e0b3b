/**
 * The progress of a sweep, from the index of its folder. The plan is read once, a finished run is not checked again, and records
 * are not read. So the status of a hundred thousand runs takes seconds, even on a slow disk.
 */

import { join } from "node:path";
import { readText } from "../files/open-file.js";
import { noCounts, type RunState, runState, type StateCounts } from "../sweep/run-state.js";
import { sharedSettings, shortTitle } from "../sweep/short-titles.js";
import { readSweepFile, sweepPaths } from "../sweep/sweep-folder.js";
import type { Progressing } from "../training/run-folder.js";
import type { IndexedRun } from "./indexed-run.js";
import type { IndexedSweep } from "./indexed-sweep.js";
import { RunIndex } from "./run-index.js";

/** A run that the status lists. */
export interface RunStatus {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly state: RunState;
  /** For a running one, the number of finished and of all updates, and the remaining seconds; null before its first report. */
  readonly progress: Progressing | null;
  /** Seconds since its last report, if that is long: the run is evaluating many pictures, or it hangs. */
  readonly silent: number | null;
  /** The process that is working on it. */
  readonly maker: { readonly host: string; readonly pid: number } | null;
  /** The last error. */
  readonly error: string | null;
}

export interface SweepStatus {
  readonly folder: string;
  readonly name: string;
  /** The plug-ins with which it was planned. */
  readonly plugins?: readonly string[];
  readonly runs: number;
  /** Settings that all runs share, which are omitted from their titles here. */
  readonly settings: readonly string[];
  /** The number of runs by state. Stopped runs count as waiting. */
  readonly counts: Readonly<Omit<StateCounts, "stopped">>;
  /** The number of waiting runs that were started before. */
  readonly begun: number;
  readonly running: readonly RunStatus[];
  readonly failed: readonly RunStatus[];
  readonly hopeless: readonly RunStatus[];
  /** The estimated seconds until all runs are done at the present pace; null if it is unknown. */
  readonly secondsLeft: number | null;
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly title: string;
}

/** Reads the status of a sweep, repeatedly if needed. */
export class StatusReader {
  private readonly index: RunIndex;
  private readonly sweep: IndexedSweep;
  private readonly shared: readonly string[];
  private isFresh = true;

  constructor(private readonly folder: string) {
    readSweepFile(folder); // throws if the folder contains no sweep
    this.index = new RunIndex([folder]);
    this.find();
    this.sweep = this.index.sweeps.get(".")!;
    this.shared = sharedSettings(this.sweep.plan.map(({ title }) => title));
  }

  private find(): void {
    for (const _ of this.index.find());
  }

  read(): SweepStatus {
    if (!this.isFresh) this.find();
    this.isFresh = false;
    const { stopped: _, ...counts } = noCounts();
    const shown: RunStatus[] = [];
    const done: string[] = [];
    let begun = 0;
    for (const run of this.sweep.plan) {
      const found = this.index.runs.get(`runs/${run.name}`);
      const state = this.stateOf(run, found);
      counts[state === "stopped" ? "waiting" : state]++;
      if (state === "done") done.push(run.name);
      else if (state === "stopped") begun++;
      else if (state !== "waiting") shown.push(this.statusOf(run, found));
    }
    const of = (state: RunState): RunStatus[] => shown.filter((run) => run.state === state);
    const running = of("running");
    return {
      folder: this.folder,
      name: this.sweep.file.name,
      ...(this.sweep.file.plugins && { plugins: this.sweep.file.plugins }),
      runs: this.sweep.plan.length,
      settings: this.shared,
      counts,
      begun,
      running,
      failed: of("failed"),
      hopeless: of("hopeless"),
      secondsLeft: this.secondsLeft(running, counts.waiting, done),
    };
  }

  /** The status of one run in any state. */
  one(run: Listed): RunStatus {
    const found = this.index.runs.get(`runs/${run.name}`);
    this.stateOf(run, found);
    return this.statusOf(run, found);
  }

  /** The state of a planned run. A run without a folder is waiting, or failed before it started. */
  private stateOf({ id }: Listed, found: IndexedRun | undefined): RunState {
    return found?.lookAtState() ?? runState({ isDone: false, isBegun: false, verdict: this.sweep.verdicts.get(id) });
  }

  private statusOf({ id, name, title }: Listed, found: IndexedRun | undefined): RunStatus {
    const verdict = this.sweep.verdicts.get(id);
    const state = found?.state ?? runState({ isDone: false, isBegun: false, verdict });
    const work = found?.work;
    return {
      ...{ id, name, title: shortTitle(title, this.shared), state },
      progress: work?.progress ?? null,
      silent: silenceSince(work?.written),
      maker: work ? { host: work.host, pid: work.pid } : null,
      error: state === "done" ? null : (verdict?.error ?? null),
    };
  }

  /** The remaining time of running runs, plus the typical time of finished runs for each waiting one, with the present number of parallel runs. */
  private secondsLeft(running: readonly RunStatus[], waiting: number, done: readonly string[]): number | null {
    if (running.length === 0) return null;
    const lefts = running.flatMap(({ progress }) => progress?.left ?? []);
    const whole = running.flatMap(({ progress }) =>
      progress && progress.step > 0
        ? (progress.left * progress.steps) / Math.max(1, progress.steps - progress.step)
        : [],
    );
    const each = mean(this.sampleSeconds(done)) ?? mean(whole);
    if (each === null) return null;
    const ofRunning = lefts.reduce((sum, left) => sum + left, 0) + (running.length - lefts.length) * each;
    return Math.max((ofRunning + waiting * each) / running.length, ...lefts);
  }

  /** The durations of some finished runs, spread evenly over all of them. */
  private sampleSeconds(done: readonly string[]): number[] {
    const count = Math.min(SAMPLE, done.length);
    const names = Array.from({ length: count }, (_, i) => done[Math.floor(((i + 0.5) * done.length) / count)]);
    return names.flatMap((name) => lastSeconds(join(sweepPaths(this.folder).run(name), "timing.jsonl")) ?? []);
  }
}

/** A run reports its steps every few seconds. An evaluation can take minutes, and the clock of another machine can differ by a minute. */
const SILENT_SECONDS = 5 * 60;

function silenceSince(reported: number | undefined): number | null {
  const seconds = reported === undefined ? 0 : (Date.now() - reported) / 1000;
  return seconds > SILENT_SECONDS ? seconds : null;
}

const SAMPLE = 20;

const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

function lastSeconds(path: string): number | undefined {
  try {
    const last = readText(path).trimEnd().split("\n").at(-1) ?? "";
    const { seconds } = JSON.parse(last) as { seconds?: unknown };
    return typeof seconds === "number" && Number.isFinite(seconds) ? seconds : undefined;
  } catch {
    return undefined;
  }
}
