/**
 * The progress of a sweep, read from its folder. The plan is read once, and the list of run folders once per check; a
 * finished run is not checked again, and only active runs are read in more detail. So a hundred thousand runs take
 * seconds, also on a slow disk.
 */

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LockWatch, noteOf, noteTime, ownerOf } from "../files/folder-lock.js";
import { DONE_FILE } from "../records/run.js";
import { lockOf, type Progressing } from "../training/run-folder.js";
import { noCounts, type RunState, runState, type StateCounts, type Verdict } from "./run-state.js";
import { sharedSettings, shortTitle } from "./short-titles.js";
import { planLines, readSweepFile, sweepPaths } from "./sweep-folder.js";
import { readVerdicts } from "./verdicts.js";

/** A run that there is something to say of. */
export interface RunStatus {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly state: RunState;
  /** Updates made and in all, and seconds to go, of one that is running; null where it has not said yet. */
  readonly progress: Progressing | null;
  /** Seconds since it last reported a step, if that is long ago: it evaluates many pictures, or hangs. */
  readonly silent: number | null;
  /** Who is making it. */
  readonly maker: { readonly host: string; readonly pid: number } | null;
  /** What went wrong last. */
  readonly error: string | null;
}

export interface SweepStatus {
  readonly folder: string;
  readonly name: string;
  readonly runs: number;
  /** Settings that all runs share, which are omitted from their titles here. */
  readonly settings: readonly string[];
  /** Those that were begun and stopped are waiting too. */
  readonly counts: Readonly<Omit<StateCounts, "stopped">>;
  /** Of those waiting, how many were begun. */
  readonly begun: number;
  readonly running: readonly RunStatus[];
  readonly failed: readonly RunStatus[];
  readonly hopeless: readonly RunStatus[];
  /** Seconds until all is done at the present pace, as far as one can tell. */
  readonly secondsLeft: number | null;
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly title: string;
}

/** Looks at a sweep, again and again if need be. */
export class StatusReader {
  private readonly paths: ReturnType<typeof sweepPaths>;
  private readonly name: string;
  private readonly total: number;
  private readonly shared: readonly string[];
  private open: Listed[];
  private readonly done: string[] = [];
  private readonly watches = new Map<string, LockWatch>();

  constructor(private readonly folder: string) {
    this.paths = sweepPaths(folder);
    this.name = readSweepFile(folder).name;
    this.open = Array.from(planLines(folder), ({ id, name, title }) => ({ id, name, title }));
    this.total = this.open.length;
    this.shared = sharedSettings(this.open.map(({ title }) => title));
  }

  read(): SweepStatus {
    const there = new Set(existsSync(this.paths.runs) ? readdirSync(this.paths.runs) : []);
    const verdicts = readVerdicts(this.folder);
    const { stopped: _, ...counts } = noCounts();
    const shown: RunStatus[] = [];
    let begun = 0;
    const open: Listed[] = [];
    for (const run of this.open) {
      const begins = there.has(run.name);
      if (begins && existsSync(join(this.paths.run(run.name), DONE_FILE))) {
        this.done.push(run.name);
        continue;
      }
      open.push(run);
      const status = this.statusOf(run, begins, verdicts.get(run.id));
      counts[status.state === "stopped" ? "waiting" : status.state]++;
      if (status.state === "stopped") begun++;
      else if (status.state !== "waiting") shown.push(status);
    }
    this.open = open;
    counts.done = this.done.length;
    const of = (state: RunState): RunStatus[] => shown.filter((run) => run.state === state);
    const running = of("running");
    return {
      folder: this.folder,
      name: this.name,
      runs: this.total,
      settings: this.shared,
      counts,
      begun,
      running,
      failed: of("failed"),
      hopeless: of("hopeless"),
      secondsLeft: this.secondsLeft(running, counts.waiting),
    };
  }

  /** One run, whatever it is. */
  one(run: Listed): RunStatus {
    const begins = existsSync(this.paths.run(run.name));
    if (existsSync(join(this.paths.run(run.name), DONE_FILE))) return this.plain(run, "done");
    return this.statusOf(run, begins, readVerdicts(this.folder).get(run.id));
  }

  /** Of a run that is not done. */
  private statusOf(run: Listed, isBegun: boolean, verdict: Verdict | undefined): RunStatus {
    const lock = lockOf(this.paths.run(run.name));
    const owner = isBegun ? ownerOf(lock) : undefined;
    const isRunning = owner !== undefined && !this.watch(run.id, lock).deadOwner();
    const status = this.plain(run, runState({ isDone: false, isRunning, isBegun, verdict }));
    const error = verdict?.error ?? null;
    if (!isRunning) return { ...status, error };
    const { host, pid } = owner;
    const [note, at] = [noteOf(lock, owner), noteTime(lock, owner)];
    return { ...status, progress: readProgress(note), silent: silenceSince(at), maker: { host, pid }, error };
  }

  private plain({ id, name, title }: Listed, state: RunState): RunStatus {
    return { id, name, title: shortTitle(title, this.shared), state, ...NOTHING_SAID };
  }

  private watch(id: string, lock: string): LockWatch {
    const watch = this.watches.get(id) ?? new LockWatch(lock);
    this.watches.set(id, watch);
    return watch;
  }

  /** What is left of those running, and for each that waits as long as some that are done took, at as many at a time as now. */
  private secondsLeft(running: readonly RunStatus[], waiting: number): number | null {
    if (running.length === 0) return null;
    const lefts = running.flatMap(({ progress }) => progress?.left ?? []);
    const whole = running.flatMap(({ progress }) =>
      progress && progress.step > 0
        ? (progress.left * progress.steps) / Math.max(1, progress.steps - progress.step)
        : [],
    );
    const each = mean(this.sampleSeconds()) ?? mean(whole);
    if (each === null) return null;
    const ofRunning = lefts.reduce((sum, left) => sum + left, 0) + (running.length - lefts.length) * each;
    return Math.max((ofRunning + waiting * each) / running.length, ...lefts);
  }

  /** How long some of the runs that are done took, spread over all of them. */
  private sampleSeconds(): number[] {
    const { done } = this;
    const count = Math.min(SAMPLE, done.length);
    const names = Array.from({ length: count }, (_, i) => done[Math.floor(((i + 0.5) * done.length) / count)]);
    return names.flatMap((name) => lastSeconds(join(this.paths.run(name), "timing.jsonl")) ?? []);
  }
}

const NOTHING_SAID = { progress: null, silent: null, maker: null, error: null } as const;

/** A run reports its steps every few seconds; an evaluation may take minutes, and the clock of another machine be off by one. */
const SILENT_SECONDS = 5 * 60;

function silenceSince(reported: number | undefined): number | null {
  const seconds = reported === undefined ? 0 : (Date.now() - reported) / 1000;
  return seconds > SILENT_SECONDS ? seconds : null;
}

const SAMPLE = 20;

const mean = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;

/** A note may be half written while it is read; the next look has it. */
function readProgress(text: string | undefined): Progressing | null {
  try {
    const { step, steps, left } = JSON.parse(text ?? "") as Progressing;
    return [step, steps, left].every(Number.isFinite) ? { step, steps, left } : null;
  } catch {
    return null;
  }
}

function lastSeconds(path: string): number | undefined {
  try {
    const last = readFileSync(path, "utf8").trimEnd().split("\n").at(-1) ?? "";
    const { seconds } = JSON.parse(last) as { seconds?: unknown };
    return typeof seconds === "number" && Number.isFinite(seconds) ? seconds : undefined;
  } catch {
    return undefined;
  }
}
