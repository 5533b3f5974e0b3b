/**
 * A sweep of the index: its plan, the place of each planned run in the grid (a row a method, a column a held-out domain), and
 * what was decided about runs: failed for good, hopeless, cancelled. The plan is read again only when its file changes.
 */

import { basename } from "node:path";
import { findDataset } from "../data/datasets/index.js";
import type { StoredFiles } from "../files/stored-files.js";
import { commonFixed, type FixedSettings, fixedText, NOTHING_FIXED, withoutFixed } from "../records/fixed-settings.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { CURRENT } from "../records/record.js";
import { datasetTitle, methodTitle } from "../settings/names.js";
import { FixedByHand } from "../sweep/fixed-by-hand.js";
import { noCounts, runState, stateWord, type Verdict } from "../sweep/run-state.js";
import { ATTEMPTS, CANCELLED, PLAN_FILE, type PlannedRun, planLines, readSweepFile } from "../sweep/sweep-folder.js";
import { readVerdicts } from "../sweep/verdicts.js";
import type { GridCell, RunRow, RunState, SweepGrid, SweepRow } from "./api.js";

/** What is kept of a planned run. */
interface Planned {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly dataset: string;
  readonly heldOut: readonly string[];
  readonly method: string;
  /** Whether that is somebody's own pictures. */
  readonly own: boolean;
  /** What was set by hand. */
  readonly fixed: FixedSettings;
  readonly trial: number;
  readonly draw: number;
  readonly steps: number | null;
}

type StateOf = (id: string) => RunState | undefined;

/** What changed so lately, in milliseconds, is read again: the clock's grain may hide a second change. */
const YOUNG_MS = 2_000;

/** More runs than this in a cell are counted, not shown one by one. */
const MOST_IN_CELL = 120;

export class SweepEntry {
  private planTime = -1;
  private decidedTime = -1;
  private verdicts = new Map<string, Verdict>();
  private plan: readonly Planned[] = [];
  /** What was set by hand in all runs alike, which tells no row of the grid from another. */
  private common = NOTHING_FIXED;
  /** What was set by hand in runs of earlier versions. */
  byHand = new FixedByHand([]);
  private name = "";
  private protocol: readonly string[] = [];
  private problem: string | null = null;

  constructor(
    readonly id: string,
    readonly files: StoredFiles,
  ) {}

  /** Looks again; whether the plan or what was decided about runs changed. */
  refresh(): boolean {
    const decided = this.readVerdicts();
    return this.readPlan() || decided;
  }

  /** What was decided about the run in this folder. */
  verdictOn(run: string): Verdict | undefined {
    return this.verdicts.get(basename(run).slice(0, 16));
  }

  /** Attempts are replaced by renaming, and cancelled runs are names in a folder, so the times of folders show every change. */
  private readVerdicts(): boolean {
    const time = Math.max(this.files.time(ATTEMPTS), this.files.time(CANCELLED));
    if (time === this.decidedTime) return false;
    this.decidedTime = Date.now() - time > YOUNG_MS ? time : -1;
    const now = readVerdicts(this.files);
    // A verdict that is the same stays the same object: runs look whether theirs is another.
    for (const [id, before] of this.verdicts) {
      const verdict = now.get(id);
      if (verdict?.state === before.state && verdict.error === before.error) now.set(id, before);
    }
    this.verdicts = now;
    return true;
  }

  private readPlan(): boolean {
    const time = this.files.time(PLAN_FILE);
    if (time === this.planTime) return false;
    this.planTime = time;
    this.name = this.id;
    try {
      const file = readSweepFile(this.files);
      [this.name, this.protocol] = [file.name, file.protocol];
      this.byHand = new FixedByHand(file.requests);
      this.plan = Array.from(planLines(this.files), (run) => toPlanned(run, this.byHand));
      this.common = commonFixed(this.plan.map(({ fixed }) => fixed));
      this.problem = null;
    } catch (error) {
      this.problem = (error as Error).message;
    }
    return true;
  }

  /** The id under which a planned run is, or will be, in the index. */
  runId({ name }: Planned): string {
    return this.id === "." ? `runs/${name}` : `${this.id}/runs/${name}`;
  }

  /** The planned runs that have no folder yet, as rows. */
  waiting(has: (id: string) => boolean): RunRow[] {
    return this.plan.filter((planned) => !has(this.runId(planned))).map((planned) => this.waitingRow(planned));
  }

  row(stateOf: StateOf): SweepRow {
    const counts = noCounts();
    for (const planned of this.plan) counts[this.stateOfPlanned(planned, stateOf)]++;
    return { id: this.id, name: this.name, runs: this.plan.length, counts, problem: this.problem };
  }

  /** A run without settings has failed before it began, or waits. */
  private stateOfPlanned(planned: Planned, stateOf: StateOf): RunState {
    const verdict = this.verdicts.get(planned.id);
    return stateOf(this.runId(planned)) ?? runState({ isDone: false, isBegun: false, verdict });
  }

  grid(stateOf: StateOf): SweepGrid {
    const columns = new Map<string, Column>();
    const rows = new Map<string, GridRow>();
    for (const planned of this.plan) {
      const { dataset, heldOut, method } = planned;
      const column = JSON.stringify([dataset, heldOut]);
      if (!columns.has(column)) columns.set(column, { key: column, dataset, heldOut });
      const fixed = withoutFixed(planned.fixed, this.common);
      const key = `${method}\n${fixedText(fixed)}`;
      const row: GridRow = rows.get(key) ?? { method, fixed, cells: new Map() };
      rows.set(key, row);
      const cell = row.cells.get(column) ?? { counts: noCounts(), runs: [] };
      row.cells.set(column, cell);
      const state = this.stateOfPlanned(planned, stateOf);
      cell.counts[state]++;
      cell.runs.push([this.runId(planned), state, planned.title]);
    }
    const ordered = inOrder([...columns.values()]);
    return {
      id: this.id,
      name: this.name,
      protocol: this.protocol,
      columns: ordered.map(({ dataset, heldOut }) => ({
        dataset: datasetTitle(dataset),
        heldOut: heldOut.join(" + "),
      })),
      rows: Array.from(rows.values(), ({ method, fixed, cells }) => ({
        ...{ method, fixed },
        cells: ordered.map(({ key }) => shownCell(cells.get(key))),
      })),
    };
  }

  private waitingRow(planned: Planned): RunRow {
    const { dataset, own, heldOut, method, fixed, trial, draw, steps } = planned;
    const verdict = this.verdicts.get(planned.id);
    const state = runState({ isDone: false, isBegun: false, verdict });
    const problem = verdict?.error ?? (state === "waiting" ? null : stateWord(state));
    return {
      id: this.runId(planned),
      state,
      sweep: this.id,
      ...{ dataset, own, heldOut, method, fixed, trial, draw, steps, problem },
      ...{
        own: isOwnDataset(dataset),
        step: null,
        reported: null,
        validation: null,
        test: null,
        expected: null,
        assessed: false,
      },
      ...{ secondsPerStep: null, at: null },
    };
  }
}

interface Column {
  readonly key: string;
  readonly dataset: string;
  readonly heldOut: readonly string[];
}

interface GridRow {
  readonly method: string;
  readonly fixed: FixedSettings;
  readonly cells: Map<string, { readonly counts: Record<RunState, number>; readonly runs: GridCell["runs"][number][] }>;
}

/** Datasets as they come in the plan; in each, domains held out alone before those held out together. */
function inOrder(columns: readonly Column[]): Column[] {
  const datasets = [...new Set(columns.map(({ dataset }) => dataset))];
  const place = ({ dataset }: Column): number => datasets.indexOf(dataset);
  return [...columns].sort((a, b) => place(a) - place(b) || a.heldOut.length - b.heldOut.length);
}

function shownCell(cell: GridCell | undefined): GridCell | null {
  if (cell === undefined) return null;
  return cell.runs.length > MOST_IN_CELL ? { counts: cell.counts, runs: [] } : cell;
}

function toPlanned({ id, name, dataset, title, request }: PlannedRun, byHand: FixedByHand): Planned {
  const names = (key: string): readonly string[] => {
    const value = request[key];
    return Array.isArray(value) ? value : typeof value === "string" && value !== "" ? value.split(",") : [];
  };
  const [model = CURRENT] = names("averaging");
  const algorithm = String(request.algorithm ?? "erm");
  const data = String(request.data ?? "");
  // Plans of earlier versions do not say what a path holds: mostly a folder of somebody's own pictures.
  const own = isOwnDataset(dataset ?? findDataset(data)?.id ?? "image-folder");
  return {
    ...{ id, name, title, heldOut: names("testDomains") },
    dataset: own ? basename(data) : (dataset ?? data),
    own,
    method: methodTitle({ algorithm, regularizers: names("regularizers"), model, fixed: NOTHING_FIXED }),
    fixed: byHand.fixedIn(request) ?? NOTHING_FIXED,
    trial: Number(request.trialSeed ?? 0),
    draw: Number(request.hparamsSeed ?? 0),
    steps: typeof request.steps === "number" ? request.steps : null,
  };
}
