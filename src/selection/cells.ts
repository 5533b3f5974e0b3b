/**
 * Cells of tables, as numbers: the mean over trials with its standard error, and averages over domains and datasets. An
 * accuracy is a fraction until it is printed; `formatCell` prints as DomainBed does.
 */

import { methodKey } from "../records/evaluated-run.js";
import type { GroupResult } from "./across-hparams.js";
import { mean, standardError, sum } from "./mean.js";

export interface Cell {
  /** Of the trials' accuracies, a fraction. */
  readonly mean: number;
  /** The standard error, with the population standard deviation as DomainBed takes it. */
  readonly error: number;
  /** The trials' accuracies. */
  readonly values: readonly number[];
}

/** Which row of which table. */
export interface Row {
  readonly dataset: string;
  /** As `methodKey` writes it. */
  readonly method: string;
}

/** The cell of some trials' accuracies; null where there are none. */
export function cellOf(values: readonly number[]): Cell | null {
  return values.length === 0 ? null : { mean: mean(values), error: standardError(values), values };
}

const inRow = (results: readonly GroupResult[], { dataset, method }: Row): GroupResult[] =>
  results.filter((result) => result.dataset === dataset && methodKey(result.method) === method);

/** The cell of a domain held out: over trials, what selection chose. */
export function domainCell(results: readonly GroupResult[], { domain, ...row }: Row & { domain: string }): Cell | null {
  const trials = inRow(results, row).filter(({ testDomain }) => testDomain === domain);
  return cellOf(trials.map(({ choice }) => choice.test));
}

/** A dataset's cell in the table of averages: the mean over the domains there are in each trial, then over trials. */
export function datasetCell(results: readonly GroupResult[], row: Row): Cell | null {
  const byTrial = new Map<number, number[]>();
  for (const { trialSeed, choice } of inRow(results, row))
    byTrial.set(trialSeed, [...(byTrial.get(trialSeed) ?? []), choice.test]);
  const ascending = [...byTrial].sort(([a], [b]) => a - b);
  return cellOf(ascending.map(([, values]) => mean(values)));
}

/**
 * The mean of cells' unrounded means; null where one of them is empty, which would make it a mean of something else.
 */
export function averageOf(cells: readonly (Cell | null)[]): number | null {
  if (cells.length === 0 || cells.includes(null)) return null;
  return sum(cells.map((cell) => cell!.mean)) / cells.length;
}

/** What stands for a cell without trials. */
const EMPTY = "X";

/** `85.5 +/- 0.2` in percent, with `between` for the sign; `X` where the cell is empty. */
export function formatCell(cell: Cell | null, between = "+/-"): string {
  if (cell === null) return EMPTY;
  return `${oneDecimal(100 * cell.mean)} ${between} ${oneDecimal(100 * cell.error)}`;
}

/** The mean of cells in percent, without an error; `X` where one of them is empty. */
export function formatAverage(cells: readonly (Cell | null)[]): string {
  if (cells.length === 0 || cells.includes(null)) return EMPTY;
  // Percents first and in order, as DomainBed's collector does: it can decide the digit.
  return oneDecimal(cells.reduce((total, cell) => total + 100 * cell!.mean, 0) / cells.length);
}

/** A number to one decimal as Python prints it: a tie, which only odd quarters are, goes to the even digit. */
export function oneDecimal(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const quarters = Math.abs(value) * 4;
  if (!Number.isInteger(quarters) || quarters % 2 === 0) return value.toFixed(1);
  const tenths = Math.floor(Math.abs(value) * 10);
  const even = tenths % 2 === 0 ? tenths : tenths + 1;
  return `${value < 0 ? "-" : ""}${(even / 10).toFixed(1)}`;
}
