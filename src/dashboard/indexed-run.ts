/**
 * One run of the index, whether it is in a folder (run-entry.ts) or in a pack (packed-entry.ts): what was read of its files so far,
 * as a row of the list and as tables take it.
 */

import type { AssessedPart, Assessment } from "../analysis/assessment.js";
import { expectedOf } from "../analysis/expected.js";
import type { StoredFiles } from "../files/stored-files.js";
import type { EvaluatedRun } from "../records/evaluated-run.js";
import { NOTHING_FIXED } from "../records/fixed-settings.js";
import { datasetIn, isOwnDataset, withoutSlash } from "../records/own-pictures.js";
import {
  ESTIMATE_FILE,
  evaluatedRuns,
  methodOf,
  ownAssessment,
  type RunSettings,
  SETTINGS_FILE,
  type StoredRun,
  toSettings,
} from "../records/run.js";
import { meanAccuracy } from "../report/run-page.js";
import { runMethodTitle } from "../settings/names.js";
import type { FixedByHand } from "../sweep/fixed-by-hand.js";
import { runState, stateWord, type Verdict } from "../sweep/run-state.js";
import type { ReportedProgress, RunRow, RunState } from "./api.js";
import { jsonIn } from "./inside.js";
import { Measured } from "./measured.js";

/** Settings that are large and that no table needs; details are read from the file again. */
const LARGE = ["classes", "request", "datasetOptions", "inputShape"];

/** What a look at a run found: nothing new, another state or progress, or other numbers. */
export type Change = "none" | "row" | "numbers";

/** A run as tables take it: itself, each of its models, and what was skipped. */
export interface TabledRun {
  readonly stored: StoredRun;
  readonly runs: readonly EvaluatedRun[];
  readonly notes: readonly string[];
}

export abstract class IndexedRun {
  protected readonly measured = new Measured();
  /** Made when tables are asked for, and kept until the run's numbers change. */
  protected tabled: TabledRun | undefined;
  protected settings: RunSettings | undefined;
  protected problem: string | null = null;
  /** What it was up to at the last look. */
  state: RunState = "stopped";
  protected secondsPerStep: number | null = null;
  protected reported: ReportedProgress | null = null;
  /** The row as JSON; empty before the first look. */
  json = "";

  /** `sweep` is the id of the sweep it belongs to. */
  constructor(
    readonly id: string,
    readonly files: StoredFiles,
    readonly sweep: string | null,
  ) {}

  /** Whether it is in a pack, and not in a folder. */
  abstract readonly isPacked: boolean;

  /** Looks again, with what the sweep decided about it. */
  abstract refresh(verdict?: Verdict, byHand?: FixedByHand): Change;

  /** Looks whether a finished run still is the one that was read; if not, the next look reads it again. */
  abstract checkDone(): void;

  /** The end of its log, where there is one. */
  abstract logEnd(most: number): { text: string; cut: boolean } | undefined;

  /** When its files last changed, in milliseconds since 1970. */
  protected abstract changedAt(): number | null;

  get folder(): string {
    return this.files.path;
  }

  get isDone(): boolean {
    return this.state === "done";
  }

  /** Whether its model is one to use: its estimate is written after it is done, when the runs it comes from are. */
  protected get isForUse(): boolean {
    const { settings } = this;
    return settings !== undefined && isOwnDataset(settings.dataset) && settings.testDomains.length === 0;
  }

  /** The run as tables take it; none while it has no settings. Its records are only those the tables read. */
  forTables(): TabledRun | undefined {
    const { settings, measured, folder, isDone } = this;
    if (!settings) return undefined;
    if (this.tabled?.stored.done === isDone) return this.tabled;
    const stored: StoredRun = {
      ...{ folder, settings, done: isDone, notes: [], ...this.assessed() },
      begun: this.files.time(SETTINGS_FILE),
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
    const { files, settings } = this;
    const estimate = this.isForUse ? ownAssessment(files, settings, ESTIMATE_FILE) : undefined;
    return { assessment: ownAssessment(files, settings), estimate };
  }

  protected row(): RunRow {
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
      fixed: method?.fixed ?? NOTHING_FIXED,
      trial: settings?.trialSeed ?? 0,
      draw: settings?.hparamsSeed ?? 0,
      step: measured.lastStep,
      steps,
      reported: this.reported,
      validation: assessed ? meanOf(assessed, "validation") : measured.lastAccuracy(training, "out"),
      test: assessed ? meanOf(assessed, "held out") : measured.lastAccuracy(testDomains, "in"),
      expected: estimate ? expectedOf(estimate.domains) : null,
      assessed: assessed !== undefined,
      secondsPerStep: this.secondsPerStep,
      at: this.changedAt(),
      problem: this.problem,
    };
  }

  /** `byHand` is what its sweep knows of runs of earlier versions. */
  protected readSettings(byHand?: FixedByHand): void {
    const parsed = jsonIn(this.files, SETTINGS_FILE);
    const read = parsed === undefined ? "it cannot be read, or is not a JSON object" : toSettings(parsed);
    this.problem = typeof read === "string" ? `${SETTINGS_FILE}: ${read}` : null;
    if (typeof read === "string") return;
    const kept = Object.entries(byHand?.settingsOf(read) ?? read).filter(([name]) => !LARGE.includes(name));
    this.settings = Object.fromEntries(kept) as unknown as RunSettings;
  }

  /** What became of the run, and what stopped it; one without settings that can be read has failed. */
  protected stateBy(verdict: Verdict | undefined, signs: { isDone: boolean; isRunning: boolean }): RunState {
    if (!this.settings) return "failed";
    const dump = signs.isDone || signs.isRunning ? undefined : jsonIn(this.files, "failure/failure.json");
    const state = runState({ ...signs, isBegun: true, verdict, hasFailed: dump !== undefined && this.sweep === null });
    const isHalted = state !== "done" && state !== "running";
    const error = dump ? `step ${dump.step}: ${dump.message}` : (verdict?.error ?? null);
    this.problem = isHalted ? (error ?? (state === "stopped" ? null : stateWord(state))) : null;
    return state;
  }

  /** The mean seconds of a step, by the last line of the times. */
  protected readPace(last: string | undefined): void {
    try {
      const { seconds, updates } = JSON.parse(last ?? "{}");
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
