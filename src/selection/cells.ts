/**
 * Table cells as numbers: the mean over trials with its standard error, and averages over domains and datasets. An
 * accuracy is a fraction until it is printed. `formatCell` prints it as DomainBed does.
 */

import { groupBy } from "../group-by.js";
import { methodKey } from "../records/evaluated-run.js";
import type { GroupResult } from "./across-hparams.js";
import { mean, standardError, sum } from "./mean.js";

export interface Cell {
  /** The mean of the trials' accuracies, as a fraction. */
  readonly mean: number;
  /** The standard error. It uses the population standard deviation, as DomainBed does. */
  readonly error: number;
  /** The trials' accuracies. */
  readonly values: readonly number[];
}

/** A row of a table. */
export interface Row {
  readonly dataset: string;
  /** The method as a string from `methodKey`. */
  readonly method: string;
}

/** Returns the cell of the accuracies of some trials, or null if there are none. */
export function cellOf(values: readonly number[]): Cell | null {
  return values.length === 0 ? null : { mean: mean(values), error: standardError(values), values };
}

const inRow = (results: readonly GroupResult[], { dataset, method }: Row): GroupResult[] =>
  results.filter((result) => result.dataset === dataset && methodKey(result.method) === method);

/** Returns the cell of a held-out domain: the mean over trials of the selected test accuracy. */
export function domainCell(results: readonly GroupResult[], { domain, ...row }: Row & { domain: string }): Cell | null {
  const trials = inRow(results, row).filter(({ testDomain }) => testDomain === domain);
  return cellOf(trials.map(({ choice }) => choice.test));
}

/**
 * Returns a dataset's cell in the table of averages: the mean over the available domains of each trial, then over the
 * trials.
 */
export function datasetCell(results: readonly GroupResult[], row: Row): Cell | null {
  const byTrial = groupBy(inRow(results, row), ({ trialSeed }) => trialSeed);
  const ascending = [...byTrial].sort(([a], [b]) => a - b);
  return cellOf(ascending.map(([, trial]) => mean(trial.map(({ choice }) => choice.test))));
}

/** Returns the mean of the unrounded means of cells, or null if any cell is empty. */
export function averageOf(cells: readonly (Cell | null)[]): number | null {
  if (cells.length === 0 || cells.includes(null)) return null;
  return sum(cells.map((cell) => cell!.mean)) / cells.length;
}

/** The text of a cell without trials. */
const EMPTY = "X";

/** Returns `85.5 +/- 0.2` in percent, with `between` as the separator, or `X` if the cell is empty. */
export function formatCell(cell: Cell | null, between = "+/-"): string {
  if (cell === null) return EMPTY;
  return `${oneDecimal(100 * cell.mean)} ${between} ${oneDecimal(100 * cell.error)}`;
}

/** Returns the mean of cells in percent, without a standard error, or `X` if any cell is empty. */
export function formatAverage(cells: readonly (Cell | null)[]): string {
  if (cells.length === 0 || cells.includes(null)) return EMPTY;
  // Convert to percent before summing in order, as DomainBed's collector does. It can change the last digit.
  return oneDecimal(cells.reduce((total, cell) => total + 100 * cell!.mean, 0) / cells.length);
}

/**
 * Formats a number with one decimal as Python does. A tie is rounded to the even digit; only odd multiples of a quarter
 * are ties.
 */
export function oneDecimal(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const quarters = Math.abs(value) * 4;
  if (!Number.isInteger(quarters) || quarters % 2 === 0) return value.toFixed(1);
  const tenths = Math.floor(Math.abs(value) * 10);
  const even = tenths % 2 === 0 ? tenths : tenths + 1;
  return `${value < 0 ? "-" : ""}${(even / 10).toFixed(1)}`;
}
