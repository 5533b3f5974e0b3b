/**
 * One run of the index: what was read of its folder so far, and what has to be looked at again. A run that is done is never
 * looked at again; one at work is looked at each time; the others only when their folder or the lock in it changed, since
 * whoever goes on with a run takes its lock first.
 */

import { statSync } from "node:fs";
import { join } from "node:path";
import { ASSESSMENT_FILE, type AssessedPart, type Assessment, isAssessment } from "../analysis/assessment.js";
import { expectedOf } from "../analysis/expected.js";
import { type LockOwner, LockWatch, noteOf, ownerOf } from "../files/folder-lock.js";
import type { EvaluatedRun } from "../records/evaluated-run.js";
import { datasetIn, isOwnDataset, withoutSlash } from "../records/own-pictures.js";
import {
  DONE_FILE,
  ESTIMATE_FILE,
  evaluatedRuns,
  methodOf,
  RECORDS_FILE,
  type RunSettings,
  SETTINGS_FILE,
  type StoredRun,
  toSettings,
} from "../records/run.js";
import { meanAccuracy } from "../report/run-page.js";
import { runMethodTitle } from "../settings/names.js";
import type { RunRow, RunState, ToldProgress } from "./api.js";
import { readJsonInside } from "./inside.js";
import { Measured } from "./measured.js";
import { Tail } from "./tail.js";

/** Settings that are large and that no table needs; details are read from the file again. */
const LARGE = ["classes", "request", "datasetOptions", "inputShape"];

/** What a look at a run found: nothing new, another state or progress, or other numbers. */
export type Change = "none" | "row" | "numbers";

/** What a sweep decided about a run: that it failed for good, or is not worth going on with, and why. */
export interface Verdict {
  readonly state: "failed" | "stopped";
  readonly why: string;
}

/** A run as tables take it: itself, each of its models, and what was left out of them. */
export interface TabledRun {
  readonly stored: StoredRun;
  readonly runs: readonly EvaluatedRun[];
  readonly notes: readonly string[];
}

export class RunEntry {
  private readonly measured = new Measured();
  /** Made when tables are asked for, and kept until the run's numbers change. */
  private tabled: TabledRun | undefined;
  private settings: RunSettings | undefined;
  private problem: string | null = null;
  /** What it was up to at the last look. */
  state: RunState = "stopped";
  private readonly lock: string;
  private readonly lockWatch: LockWatch;
  private readonly records: Tail;
  private readonly timing: Tail;
  private secondsPerStep: number | null = null;
  private told: ToldProgress | null = null;
  private toldBefore: ToldProgress | null = null;
  private verdict: Verdict | undefined;
  private folderTime = 0;
  private lockTime = 0;
  private doneTime = 0;
  /** The row as JSON; empty before the first look. */
  json = "";

  /** `root` is the real path of the folder that is watched; `sweep` the id of the sweep it belongs to. */
  constructor(
    readonly id: string,
    readonly folder: string,
    readonly sweep: string | null,
    private readonly root: string,
  ) {
    this.lock = join(folder, "lock");
    this.lockWatch = new LockWatch(this.lock);
    this.records = new Tail(root, join(folder, RECORDS_FILE));
    this.timing = new Tail(root, join(folder, "timing.jsonl"));
  }

  get isDone(): boolean {
    return this.state === "done";
  }

  /** Looks again. */
  refresh(verdict?: Verdict): Change {
    if (this.isDone && !this.records.hasMore && !(this.isForUse && this.folderChanged())) return "none";
    const isIdle = this.state !== "running" && verdict === this.verdict && !this.records.hasMore;
    if (!this.folderChanged() && isIdle) return "none";
    this.verdict = verdict;
    if (!this.settings) this.readSettings();
    this.state = this.stateNow();
    const grew = this.readMeasured();
    this.readTiming();
    const json = JSON.stringify(this.row());
    const changed = json !== this.json;
    const estimated = changed && this.isDone && this.isForUse;
    if (estimated) this.tabled = undefined;
    const change = grew || estimated ? "numbers" : changed ? "row" : "none";
    this.json = json;
    return change;
  }

  /** Whether its model is one to use: its estimate is written after it is done, when the runs it comes from are. */
  private get isForUse(): boolean {
    const { settings } = this;
    return settings !== undefined && isOwnDataset(settings.dataset) && settings.testDomains.length === 0;
  }

  /** Looks whether a finished run still is the one that was read; if not, the next look reads it anew. */
  checkDone(): void {
    if (!this.isDone || timeOf(join(this.folder, DONE_FILE)) === this.doneTime) return;
    this.state = "stopped";
    this.settings = undefined;
    this.folderTime = 0;
  }

  /** The run as tables take it; none while it has no settings. Its records are only those the tables read. */
  forTables(): TabledRun | undefined {
    const { settings, measured, folder, isDone } = this;
    if (!settings) return undefined;
    if (this.tabled?.stored.done === isDone) return this.tabled;
    const stored: StoredRun = {
      ...{ folder, settings, done: isDone, notes: [], ...this.assessed() },
      begun: timeOf(join(folder, SETTINGS_FILE)),
      get records() {
        return measured.records();
      },
    };
    this.tabled = { stored, ...evaluatedRuns(stored) };
    return this.tabled;
  }

  /** What a finished run on own pictures was found to do, as its own report has it. */
  private assessed(): Pick<StoredRun, "assessment" | "estimate"> {
    if (!this.isDone || !this.settings || !isOwnDataset(this.settings.dataset)) return {};
    const read = (file: string): Assessment | undefined => {
      const found = readJsonInside(this.root, join(this.folder, file));
      return isAssessment(found) ? found : undefined;
    };
    return { assessment: read(ASSESSMENT_FILE), estimate: this.isForUse ? read(ESTIMATE_FILE) : undefined };
  }

  private row(): RunRow {
    const { id, sweep, settings, measured } = this;
    const { assessment: assessed, estimate } = this.assessed();
    const { testDomains = [], domains = [], steps = null } = settings ?? {};
    const method = settings && methodOf(settings, settings.averaging[0]?.id ?? "current");
    const training = domains.filter((domain) => !testDomains.includes(domain));
    return {
      id,
      sweep,
      state: this.state,
      dataset: settings ? withoutSlash(datasetIn(settings)) : "",
      own: settings !== undefined && isOwnDataset(settings.dataset),
      heldOut: testDomains,
      method: method ? runMethodTitle(method, settings as { probe?: unknown }) : "",
      variant: method?.variant ?? "",
      trial: settings?.trialSeed ?? 0,
      draw: settings?.hparamsSeed ?? 0,
      step: measured.lastStep,
      steps,
      told: this.told,
      validation: assessed ? meanOf(assessed, "validation") : measured.lastAccuracy(training, "out"),
      test: assessed ? meanOf(assessed, "held out") : measured.lastAccuracy(testDomains, "in"),
      expected: estimate ? expectedOf(estimate.domains) : null,
      assessed: assessed !== undefined,
      secondsPerStep: this.secondsPerStep,
      at: this.timing.changed ?? this.records.changed ?? (this.folderTime || null),
      problem: this.problem,
    };
  }

  private readSettings(): void {
    const parsed = readJsonInside(this.root, join(this.folder, SETTINGS_FILE));
    const read = parsed === undefined ? "it cannot be read, or is no JSON object" : toSettings(parsed);
    this.problem = typeof read === "string" ? `${SETTINGS_FILE}: ${read}` : null;
    if (typeof read === "string") return;
    const kept = Object.entries(read).filter(([name]) => !LARGE.includes(name));
    this.settings = Object.fromEntries(kept) as unknown as RunSettings;
  }

  private folderChanged(): boolean {
    const [folder, lock] = [timeOf(this.folder), timeOf(this.lock)];
    // A change within the clock's grain of the last look would not show: so what is fresh is looked at again.
    const settled = Date.now() - Math.max(folder, lock) > 3_000;
    if (settled && folder === this.folderTime && lock === this.lockTime) return false;
    [this.folderTime, this.lockTime] = [folder, lock];
    return true;
  }

  private stateNow(): RunState {
    this.told = null;
    if (!this.settings) return "failed";
    this.problem = null;
    this.doneTime = timeOf(join(this.folder, DONE_FILE));
    if (this.doneTime > 0) return "done";
    const owner = ownerOf(this.lock);
    if (owner && !this.lockWatch.deadOwner()) {
      this.told = this.readNote(owner);
      return "running";
    }
    const failure = this.failure();
    this.problem = failure ?? this.verdict?.why ?? null;
    return failure !== null ? "failed" : (this.verdict?.state ?? "stopped");
  }

  /** What the process at work on the run says of it. */
  private readNote(owner: LockOwner): ToldProgress | null {
    try {
      const { step, left } = JSON.parse(noteOf(this.lock, owner) ?? "null");
      if (!Number.isFinite(step) || !Number.isFinite(left)) return null;
      // Only a note that says something else is a change, and its time is that of the first look at it.
      const before = this.toldBefore;
      if (before?.step !== step || before?.left !== left) this.toldBefore = { step, left, at: Date.now() };
      return this.toldBefore;
    } catch {
      return null;
    }
  }

  /** What stopped the run, where a step failed. */
  private failure(): string | null {
    const dump = readJsonInside(this.root, join(this.folder, "failure", "failure.json"));
    return dump ? `step ${dump.step}: ${dump.message}` : null;
  }

  private readMeasured(): boolean {
    const { lines, anew } = this.records.read();
    if (anew) this.measured.clear();
    const grew = this.measured.add(lines) || anew;
    if (grew) this.tabled = undefined;
    return grew;
  }

  private readTiming(): void {
    const last = this.timing.read().lines.at(-1);
    if (last === undefined) return;
    try {
      const { seconds, updates } = JSON.parse(last);
      if (seconds > 0 && updates > 0) this.secondsPerStep = seconds / updates;
    } catch {
      // Damaged: the next line will do.
    }
  }
}

/** The mean of the assessed accuracies on one part; null where no domain is of it. */
function meanOf({ domains }: Assessment, part: AssessedPart): number | null {
  const of = domains.filter((domain) => domain.part === part);
  return of.length > 0 ? meanAccuracy(of) : null;
}

/** When a file or folder last changed; 0 where there is none. */
const timeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
