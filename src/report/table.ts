/**
 * A table as data, before it is Markdown, LaTeX, CSV or HTML: rows of cells with a mean and a standard error over trials,
 * and numbered notes that say why a cell is empty or partial and which command fills it.
 */

import { oneDecimal } from "../selection/cells.js";

export interface TableCell {
  /** A fraction; null where there is nothing to show. */
  readonly mean: number | null;
  /** The standard error over trials; null for averages and single numbers. */
  readonly error: number | null;
  /** Of one model on so many pictures, own ones: the 95 % interval that their number leaves. */
  readonly interval?: readonly [low: number, high: number];
  /** How many pictures that is of. */
  readonly pictures?: number;
  /** How many trials there are, of how many the table has; null where trials do not apply. */
  readonly trials: readonly [have: number, of: number] | null;
  /** The best and the second of the column's whole cells. */
  readonly mark: "best" | "second" | null;
  /** The number of a note, from 1. */
  readonly note: number | null;
}

export interface TableRow {
  /** `published` and `difference` rows stand under the row of ours they belong to. */
  readonly kind: "own" | "published" | "difference";
  readonly title: string;
  /** As `methodKey` writes it. */
  readonly method: string;
  readonly cells: readonly TableCell[];
}

export interface Table {
  /** For files: `pacs`, `averages`, `swad`. */
  readonly id: string;
  readonly title: string;
  /** The selection rule and the protocol, in sentences. */
  readonly words: readonly string[];
  /** Headings, without that of the methods. */
  readonly columns: readonly string[];
  readonly rows: readonly TableRow[];
  readonly notes: readonly string[];
}

/** Notes under a table; the same text is the same note. */
export class Notes {
  readonly texts: string[] = [];

  /** The number of this note. */
  add(text: string): number {
    const at = this.texts.indexOf(text);
    return at >= 0 ? at + 1 : this.texts.push(text);
  }
}

/** A cell's number as the paper prints it, in percent; differences carry their sign. Null where the cell is empty. */
export function cellNumbers(
  { mean, error, interval }: TableCell,
  kind: TableRow["kind"],
): { mean: string; error: string; interval: string } | null {
  if (mean === null) return null;
  const text = oneDecimal(100 * mean);
  const signed = kind === "difference" && mean > 0 && text !== "0.0" ? `+${text}` : text;
  return {
    mean: signed === "-0.0" ? "0.0" : signed,
    error: error === null ? "" : oneDecimal(100 * error),
    interval: interval ? interval.map((end) => oneDecimal(100 * end)).join("–") : "",
  };
}

/** `85.5 ± 0.2` over trials, `59.0 (47.9–69.2)` of one model on so many pictures, `85.5`. */
export function numbersText({ mean, error, interval }: NonNullable<ReturnType<typeof cellNumbers>>): string {
  return `${mean}${error === "" ? "" : ` ± ${error}`}${interval === "" ? "" : ` (${interval})`}`;
}

/** Whether a cell stands on fewer trials than its table has. */
export const isPartial = ({ trials }: TableCell): boolean => trials !== null && trials[0] < trials[1];

/**
 * Marks the best and the second of each column, by what is printed, so that equals are marked alike. Cells with a note
 * (partial ones) do not compete: a mean over other trials or domains is another quantity.
 */
export function withMarks(rows: readonly TableRow[]): TableRow[] {
  const competes = ({ kind }: TableRow, { mean, note }: TableCell): boolean =>
    kind === "own" && note === null && mean !== null && Number.isFinite(mean);
  const printed = ({ mean }: TableCell): number => Number(oneDecimal(100 * mean!));
  const ranked = (column: number): number[] => {
    const values = rows.flatMap((row) => (competes(row, row.cells[column]) ? [printed(row.cells[column])] : []));
    return values.length < 2 ? [] : [...new Set(values)].sort((a, b) => b - a);
  };
  const columns = rows[0]?.cells.map((_, column) => ranked(column)) ?? [];
  return rows.map((row) => ({
    ...row,
    cells: row.cells.map((cell, column) => {
      if (!competes(row, cell)) return cell;
      const place = columns[column].indexOf(printed(cell));
      return { ...cell, mark: place === 0 ? "best" : place === 1 ? "second" : null };
    }),
  }));
}
