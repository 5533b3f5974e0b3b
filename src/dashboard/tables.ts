/** The tables of the report for the runs of the index. They are computed on request and cached until a run changes. */

import { setImmediate as turn } from "node:timers/promises";
import type { RunResult } from "../records/run-reader.js";
import { comparisonWords } from "../report/comparison-table.js";
import { type ModelList, modelTable } from "../report/model-list.js";
import { equalWords } from "../report/paired.js";
import { withoutDuplicates } from "../report/read-results.js";
import { makeReport, type Report } from "../report/report.js";
import { cellNumbers, isPartial, numbersText, type Table, type TableCell, type TableRow } from "../report/table.js";
import type { StudiedSetting, WeightStudy } from "../report/weight-study.js";
import { selectionNamed, selections } from "../selection/index.js";
import { intervalPoints, pText, signedPoints } from "../selection/signed-points.js";
import type { CellText, ReportData, TableData, WeightData, WeightPoint } from "./api.js";
import { asTyped } from "./run-details.js";
import type { RunRows } from "./run-rows.js";

export interface TablesAsked {
  readonly selection: string;
  readonly published: boolean;
  /** The sweep; undefined means all runs. */
  readonly sweep: string | undefined;
}

const SLICE_MS = 12;

/** The number of cached responses: each rule with and without the paper's numbers. */
const MOST_KEPT = 8;

export class Tables {
  private readonly kept = new Map<string, { version: number; text: Promise<string> }>();

  constructor(private readonly rows: RunRows) {}

  /** The response as JSON. An unknown rule is a UsageError. */
  json(asked: TablesAsked): Promise<string> {
    const key = JSON.stringify(asked);
    const { version } = this.rows;
    const before = this.kept.get(key);
    if (before?.version === version) return before.text;
    const text = this.make(asked).then((report) => JSON.stringify(report));
    this.kept.delete(key);
    this.kept.set(key, { version, text });
    for (const old of this.kept.keys()) if (this.kept.size > MOST_KEPT) this.kept.delete(old);
    return text;
  }

  private async make({ selection, published, sweep }: TablesAsked): Promise<ReportData> {
    const rule = selectionNamed(selection);
    const tabled = await this.collect(sweep);
    const stored = tabled.map((run) => run.stored);
    const all = {
      runs: tabled.flatMap(({ runs }) => runs),
      stored,
      notes: tabled.flatMap(({ notes }) => notes.map(({ text }) => text)),
    };
    const { runs, notes } = withoutDuplicates(all);
    const report = makeReport({ runs, stored, notes: [...all.notes, ...notes] }, { selection: rule, published });
    return { selection, runs: new Set(runs.map(({ source }) => source)).size, ...reportData(report) };
  }

  /** The runs for the tables, in slices, because the first time takes long. */
  private async collect(sweep: string | undefined): Promise<RunResult[]> {
    const tabled: RunResult[] = [];
    let since = performance.now();
    for (const entry of this.rows.runs(sweep)) {
      const run = entry.result();
      if (run) tabled.push(run);
      if (performance.now() - since < SLICE_MS) continue;
      await turn();
      since = performance.now();
    }
    return tabled;
  }
}

function reportData({ outcome, tables, models, comparisons, weights }: Report): Omit<ReportData, "selection" | "runs"> {
  return {
    selections: Object.values(selections).map(({ id, title, about }) => ({ id, title, about })),
    tables: tables.map(tableData),
    models: models.map(modelData),
    comparisons: comparisons.map((comparison, i) => ({
      first: comparison.first,
      second: comparison.second,
      words: [
        ...(i === 0 ? comparisonWords(comparison) : []), // once for all
        ...equalWords(comparison, comparison.rows),
      ],
      rows: comparison.rows
        .filter(({ mean }) => Number.isFinite(mean))
        .map(({ title, domain, mean, interval, trials, p, corrected }) => ({
          ...{ title, whole: domain === null, mean: 100 * mean, trials },
          interval: interval && [100 * interval[0], 100 * interval[1]],
          texts: [signedPoints(mean), intervalPoints(interval), pText(p), pText(corrected)],
        })),
    })),
    weights: weights.flatMap(weightData),
    notes: shortened(outcome.notes),
  };
}

/** The final models, with their folders as typed in a shell. */
function modelData(list: ModelList): ReportData["models"][number] {
  const { title, words, head, rows } = modelTable(list, asTyped);
  return { title, words, head, rows };
}

/** One figure for each kind of penalty with several weights. */
function weightData({ title, kinds, baseline }: WeightStudy): WeightData[] {
  return kinds
    .filter(({ settings }) => settings.length > 1)
    .map((kind) => ({
      title: `${title}, ${kind.title}`,
      points: kind.settings.map(weightPoint),
      baseline: baseline && weightPoint(baseline),
    }));
}

function weightPoint({ weight, accuracy, features }: StudiedSetting): WeightPoint {
  const { stableRank, centredStableRank } = features["held-out domain"];
  return { weight, accuracy: 100 * accuracy, stableRank, centredStableRank };
}

/** The maximum number of notes. */
function shortened(notes: readonly string[], most = 50): string[] {
  return notes.length <= most ? [...notes] : [...notes.slice(0, most), `and ${notes.length - most} more of this kind`];
}

function tableData({ id, title, words, columns, rows, notes }: Table): TableData {
  const shown = rows.map((row) => ({
    title: row.title,
    kind: row.kind,
    cells: row.cells.map((cell) => cellText(cell, row.kind)),
  }));
  return { id, title, words, columns, rows: shown, notes };
}

function cellText(cell: TableCell, kind: TableRow["kind"]): CellText {
  const numbers = cellNumbers(cell, kind);
  const text = numbers ? numbersText(numbers) : "";
  const partial = numbers && isPartial(cell) ? cell.trials!.join("/") : null;
  return { text, mark: cell.mark, partial, note: cell.note };
}
