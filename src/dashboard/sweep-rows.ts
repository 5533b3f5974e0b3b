/**
 * A sweep on the page: how many of its runs are in which state, the grid of them (a row a method, a column a held-out domain), and
 * rows of those that have no folder yet.
 */

import { basename } from "node:path";
import { findDataset } from "../data/datasets/index.js";
import { commonFixed, type FixedSettings, fixedText, NOTHING_FIXED, withoutFixed } from "../records/fixed-settings.js";
import { isOwnDataset } from "../records/own-pictures.js";
import { CURRENT } from "../records/record.js";
import type { IndexedSweep } from "../run-index/indexed-sweep.js";
import { datasetTitle, methodTitle } from "../settings/names.js";
import type { FixedByHand } from "../sweep/fixed-by-hand.js";
import type { ListedRun } from "../sweep/run-list.js";
import { noCounts, runState, stateWord } from "../sweep/run-state.js";
import type { GridCell, RunRow, RunState, SweepGrid, SweepRow } from "./api.js";

/** The stored facts of a planned run. */
interface Planned {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly dataset: string;
  readonly heldOut: readonly string[];
  /** The method of its main model: the average of the weights, if there is one. */
  readonly method: string;
  /** The methods whose accuracies it gives: `ERM-NU and SWAD-NU`, because an average needs no run of its own. */
  readonly methods: string;
  /** Whether the dataset is the user's own pictures. */
  readonly own: boolean;
  /** What was set by hand. */
  readonly fixed: FixedSettings;
  readonly trial: number;
  readonly draw: number;
  readonly steps: number | null;
}

type StateOf = (id: string) => RunState | undefined;

/** If a cell has more runs than this, they are counted instead of shown. */
const MOST_IN_CELL = 120;

const inWords = new Intl.ListFormat("en-GB");

export class SweepRows {
  private listed: readonly ListedRun[] | undefined;
  private plan: readonly Planned[] = [];
  /** The explicit settings that all runs share, which do not distinguish rows of the grid. */
  private common = NOTHING_FIXED;
  private name: string;
  private protocol: readonly string[] = [];
  private problem: string | null = null;

  constructor(readonly sweep: IndexedSweep) {
    this.name = sweep.id;
  }

  private get id(): string {
    return this.sweep.id;
  }

  /** Takes in the plan where it is another one now; one that cannot be read costs no run. */
  private readPlan(): readonly Planned[] {
    try {
      const { file, plan, byHand } = this.sweep;
      [this.name, this.protocol, this.problem] = [file.name, file.protocol, null];
      if (plan === this.listed) return this.plan;
      this.listed = plan;
      this.plan = plan.map((run) => toPlanned(run, byHand));
      this.common = commonFixed(this.plan.map(({ fixed }) => fixed));
    } catch (error) {
      this.problem = (error as Error).message;
    }
    return this.plan;
  }

  /** The id of a planned run in the index, now or later. */
  runId({ name }: Planned): string {
    return this.id === "." ? `runs/${name}` : `${this.id}/runs/${name}`;
  }

  /** The planned runs that have no folder yet, as rows. */
  waiting(has: (id: string) => boolean, stateOf: StateOf): RunRow[] {
    return this.readPlan()
      .filter((planned) => !has(this.runId(planned)))
      .map((planned) => this.waitingRow(planned, stateOf));
  }

  row(stateOf: StateOf): SweepRow {
    const counts = noCounts();
    for (const planned of this.plan) counts[this.stateOfPlanned(planned, stateOf)]++;
    return { id: this.id, name: this.name, runs: this.plan.length, counts, problem: this.problem };
  }

  /** A run without settings has failed before it started, or is waiting. */
  private stateOfPlanned(planned: Planned, stateOf: StateOf): RunState {
    const verdict = this.sweep.verdicts.get(planned.id);
    return stateOf(this.runId(planned)) ?? runState({ isDone: false, isBegun: false, verdict });
  }

  grid(stateOf: StateOf): SweepGrid {
    const columns = new Map<string, Column>();
    const rows = new Map<string, GridRow>();
    for (const planned of this.plan) {
      const { dataset, heldOut, methods: method } = planned;
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

  private waitingRow(planned: Planned, stateOf: StateOf): RunRow {
    const { dataset, own, heldOut, method, fixed, trial, draw, steps } = planned;
    const verdict = this.sweep.verdicts.get(planned.id);
    const state = this.stateOfPlanned(planned, stateOf);
    const problem =
      verdict?.error ?? (["waiting", "stopped", "running", "done"].includes(state) ? null : stateWord(state));
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

/** Datasets in the order of the plan; in each, domains that are held out alone come before pairs. */
function inOrder(columns: readonly Column[]): Column[] {
  const datasets = [...new Set(columns.map(({ dataset }) => dataset))];
  const place = ({ dataset }: Column): number => datasets.indexOf(dataset);
  return [...columns].sort((a, b) => place(a) - place(b) || a.heldOut.length - b.heldOut.length);
}

function shownCell(cell: GridCell | undefined): GridCell | null {
  if (cell === undefined) return null;
  return cell.runs.length > MOST_IN_CELL ? { counts: cell.counts, runs: [] } : cell;
}

function toPlanned({ id, name, dataset, title, request }: ListedRun, byHand: FixedByHand): Planned {
  const names = (key: string): readonly string[] => {
    const value = request[key];
    return Array.isArray(value) ? value : typeof value === "string" && value !== "" ? value.split(",") : [];
  };
  const algorithm = String(request.algorithm ?? "erm");
  const titles = [CURRENT, ...names("averaging")].map((model) =>
    methodTitle({ algorithm, regularizers: names("regularizers"), model, fixed: NOTHING_FIXED }),
  );
  const data = String(request.data ?? "");
  // Plans of earlier versions do not say what a path contains: usually it is a folder of own pictures.
  const own = isOwnDataset(dataset ?? findDataset(data)?.id ?? "image-folder");
  return {
    ...{ id, name, title, heldOut: names("testDomains") },
    dataset: own ? basename(data) : (dataset ?? data),
    own,
    method: titles[1] ?? titles[0],
    methods: inWords.format(titles),
    fixed: byHand.fixedIn(request) ?? NOTHING_FIXED,
    trial: Number(request.trialSeed ?? 0),
    draw: Number(request.hparamsSeed ?? 0),
    steps: typeof request.steps === "number" ? request.steps : null,
  };
}
