/**
 * Paired differences as tables of texts that every format can print: a table for each comparison, by held-out domain; where
 * there are many, one of all of them with a row for each dataset, and a verdict that can be read down a column.
 */

import { oneDecimal } from "../selection/cells.js";
import { intervalWords, type PairedComparison, type PairedDifference } from "./paired.js";
import type { TextTable } from "./text-table.js";

/** As many comparisons have a table of their own, by domain: about what fits on a page. */
const MOST_APART = 4;

/** Whether so many comparisons are put together in one table. */
export const areMany = (comparisons: readonly PairedComparison[]): boolean => comparisons.length > MOST_APART;

/** Sets the tables of some comparisons. */
export function comparisonTables(comparisons: readonly PairedComparison[]): TextTable[] {
  return areMany(comparisons) ? [tableOfAll(comparisons)] : comparisons.map(tableOfOne);
}

const LATE =
  "Second half of training: the mean over its evaluations in the place of the chosen step, nothing selected. On a held-out domain " +
  "single steps differ by points, so this is the steadier number.";

/** What to know of differences between single trials, of somebody who may not know what a trial is. */
const ONE_TRIAL =
  "Same split, same held-out domain; differences in points of accuracy, of one trial each: how much of them is chance is not known. " +
  "Train both again with another `--trial-seed`, which splits anew, and an interval will stand here.";

/** Whole domains are judged at the end only. */
const LATE_OWN = "It is of the part of the held-out domain that is evaluated while training.";

const isOneTrial = ({ own, rows }: PairedComparison): boolean => own && rows.every(({ interval }) => interval === null);

/** What the differences of a comparison are, and their intervals. */
export const comparisonWords = (comparison: PairedComparison): string[] => [
  isOneTrial(comparison) ? ONE_TRIAL : intervalWords,
];

function tableOfOne(comparison: PairedComparison): TextTable {
  const { first, second, rows, late, notes } = comparison;
  if (isOneTrial(comparison)) return tableOfOneTrial(comparison);
  return {
    title: `${first} against ${second}, pair by pair`,
    words: [...comparisonWords(comparison), ...lateWords(comparison)],
    head: ["held out", `${first} − ${second}`, "95% interval", "pairs"],
    rows: [...rows, ...late].map((row) => [row.title, ...differenceTexts(row)]),
    notes,
  };
}

const lateWords = ({ late, own }: PairedComparison): string[] =>
  late.length > 0 ? [own ? `${LATE} ${LATE_OWN}` : LATE] : [];

/** The same without a column of intervals that it cannot have. */
function tableOfOneTrial(comparison: PairedComparison): TextTable {
  const { first, second, rows, late, notes } = comparison;
  return {
    title: `${first} against ${second}`,
    words: [...comparisonWords(comparison), ...lateWords(comparison)],
    head: ["held out", `${first} − ${second}`],
    rows: [...rows, ...late].map((row) => [row.title, differenceTexts(row)[0]]),
    notes,
  };
}

function tableOfAll(comparisons: readonly PairedComparison[]): TextTable {
  const other = otherOfAll(comparisons);
  const rows = comparisons.flatMap((comparison) =>
    comparison.rows
      .filter(({ domain }) => domain === null)
      .map((row) => [nameIn(comparison, other), row.title, ...differenceTexts(row), verdict(row)]),
  );
  return {
    title: other === null ? "With and without, pair by pair" : `All against ${other}, pair by pair`,
    words: [
      intervalWords,
      `Ahead or behind: the interval leaves out zero. Where nothing differs about one in twenty would, and more with few trials. By held-out domain: \`--compare\` with two of the names.`,
    ],
    head: [other === null ? "methods" : "method", "held out", "difference", "95% interval", "pairs", "verdict"],
    rows,
    notes: [...new Set(comparisons.flatMap(({ notes }) => notes))],
  };
}

/** The method that all comparisons are with; null where there are several. */
export function otherOfAll(comparisons: readonly PairedComparison[]): string | null {
  const others = new Set(comparisons.map(({ second }) => second));
  return others.size === 1 ? [...others][0] : null;
}

/** What a comparison is called among others. */
export const nameIn = ({ first, second }: PairedComparison, other: string | null): string =>
  other === null ? `${first} − ${second}` : first;

/** The difference, its interval and the number of pairs, as text. */
function differenceTexts({ mean, interval, pairs }: PairedDifference): [string, string, string] {
  const signed = (value: number): string => `${value > 0 ? "+" : ""}${oneDecimal(100 * value)}`;
  const range = interval ? `${signed(interval[0])} … ${signed(interval[1])}` : "– (needs two trials)";
  return [signed(mean), range, String(pairs)];
}

function verdict({ interval }: PairedDifference): string {
  if (!interval) return "–";
  if (interval[0] > 0) return "ahead";
  return interval[1] < 0 ? "behind" : "open";
}
