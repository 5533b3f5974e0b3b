/**
 * A table as data, before it is formatted as Markdown, LaTeX, CSV or HTML: rows of cells with a mean and a standard
 * error over trials, and numbered notes that explain why a cell is empty or partial and which command fills it.
 */

import { oneDecimal } from "../selection/cells.js";

export interface TableCell {
  /** A fraction; null if there is nothing to show. */
  readonly mean: number | null;
  /** The standard error over trials; null for averages and single numbers. */
  readonly error: number | null;
  /** For one model on own pictures: the 95 % interval from their number. */
  readonly interval?: readonly [low: number, high: number];
  /** The number of these pictures. */
  readonly pictures?: number;
  /** The number of existing trials and of all trials of the table; null if trials do not apply. */
  readonly trials: readonly [have: number, of: number] | null;
  /** The best and second best of the complete cells of the column. */
  readonly mark: "best" | "second" | null;
  /** The number of a note, from 1. */
  readonly note: number | null;
}

export interface TableRow {
  /** `published` and `difference` rows follow the row of ours that they belong to. */
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
  /** The selection method and the protocol, as sentences. */
  readonly words: readonly string[];
  /** Headings, without that of the methods. */
  readonly columns: readonly string[];
  readonly rows: readonly TableRow[];
  readonly notes: readonly string[];
}

/** Notes below a table. Equal texts are the same note. */
export class Notes {
  readonly texts: string[] = [];

  /** The number of this note. */
  add(text: string): number {
    const at = this.texts.indexOf(text);
    return at >= 0 ? at + 1 : this.texts.push(text);
  }
}

/** The number of a cell as the paper prints it, in percent; differences have a sign. Null for an empty cell. */
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

/** `85.5 ± 0.2` over trials, `59.0 (47.9–69.2)` for one model on this number of pictures, `85.5`. */
export function numbersText({ mean, error, interval }: NonNullable<ReturnType<typeof cellNumbers>>): string {
  return `${mean}${error === "" ? "" : ` ± ${error}`}${interval === "" ? "" : ` (${interval})`}`;
}

/** Whether a cell has fewer trials than its table has. */
export const isPartial = ({ trials }: TableCell): boolean => trials !== null && trials[0] < trials[1];

/**
 * Marks the best and the second best of each column by the printed value, so that equals are marked equally. Cells with
 * a note (partial ones) do not compete: a mean over other trials or domains is not comparable.
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
