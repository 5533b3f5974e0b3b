/**
 * Paired differences as tables of texts that every format can print: a table for each comparison, by held-out domain; where
 * there are many, one of all of them with a row for each dataset, and a verdict that can be read down a column.
 */

import { oneDecimal } from "../selection/cells.js";
import { holm, type Interval, SIGNIFICANT } from "../selection/trial-statistics.js";
import { intervalWords, type PairedComparison, type PairedDifference } from "./paired.js";
import type { TextTable } from "./text-table.js";

/** As many comparisons have a table of their own, by domain: about what fits on a page. */
const MOST_APART = 4;

/** Whether so many comparisons are put together in one table. */
export const areMany = (comparisons: readonly PairedComparison[]): boolean => comparisons.length > MOST_APART;

/** Sets the tables of some comparisons. */
export function comparisonTables(comparisons: readonly PairedComparison[]): TextTable[] {
  if (!areMany(comparisons)) return comparisons.map(tableOfOne);
  const late = comparisons.some((each) => each.late.length > 0);
  return [tableOfAll(comparisons), ...(late ? [tableOfAll(comparisons, "late")] : [])];
}

/** What the second half of training is. */
export const LATE =
  "Second half of training: the mean over its evaluations in the place of the chosen step, nothing selected. On a held-out domain " +
  "single steps differ by points, so this is the steadier number.";

/** What to know of differences between single trials, of somebody who may not know what a trial is. */
const ONE_TRIAL =
  "Same split, same held-out domain; differences in points of accuracy, of one trial each: how much of them is chance is not known. " +
  "Train both again with another `--trial-seed`, which draws another split, and this table will have an interval.";

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
    head: ["held out", `${first} − ${second}`, "95% interval", "trials"],
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

/** How a verdict is reached where there are many of them. */
const VERDICTS =
  "p: two-sided, of the same t; Holm: corrected for the number of rows of this table. Ahead or behind: the corrected p is below 0.05; otherwise open. " +
  "The intervals themselves are not corrected: about one in twenty excludes zero where nothing differs.";

function tableOfAll(comparisons: readonly PairedComparison[], part: "rows" | "late" = "rows"): TextTable {
  const other = otherOfAll(comparisons);
  const rows = comparisons.flatMap((comparison) =>
    comparison[part]
      .filter(({ domain }) => domain === null)
      .map((row) => ({ ...row, name: nameIn(comparison, other) })),
  );
  const corrected = holm(rows.map(({ p }) => p));
  const words = {
    against: (each: string) => `All against ${each}`,
    asked: "Methods compared",
    penalties: "With and without",
  };
  const all = `${titleOf(comparisons, words)}, pair by pair`;
  return {
    title: part === "late" ? `${all}: second half of training` : all,
    words: [
      intervalWords,
      ...(part === "late" ? [LATE] : []),
      `${VERDICTS} By held-out domain: \`--compare\` with two of the names.`,
    ],
    head: [
      ...[other === null ? "methods" : "method", "held out", "difference", "95% interval", "trials"],
      ...["p", "Holm", "verdict"],
    ],
    rows: rows.map((row, i) => [
      ...[row.name, row.title, ...differenceTexts(row)],
      ...[pText(row.p), pText(corrected[i]), verdict(row, corrected[i])],
    ]),
    notes: part === "late" ? [] : [...new Set(comparisons.flatMap(({ notes }) => notes))],
  };
}

/** The method that all comparisons are with; null where there are several. */
export function otherOfAll(comparisons: readonly Pick<PairedComparison, "second">[]): string | null {
  const others = new Set(comparisons.map(({ second }) => second));
  return others.size === 1 ? [...others][0] : null;
}

/** What several comparisons are called: by the method that all are with; else by whether they are of penalties or of what was asked for. */
export function titleOf(
  comparisons: readonly PairedComparison[],
  { against, asked, penalties }: { against: (other: string) => string; asked: string; penalties: string },
): string {
  const other = otherOfAll(comparisons);
  if (other !== null && comparisons.length > 1) return against(other);
  return comparisons.some((each) => each.asked) ? asked : penalties;
}

/** What a comparison is called among others. */
export const nameIn = ({ first, second }: Pick<PairedComparison, "first" | "second">, other: string | null): string =>
  other === null ? `${first} − ${second}` : first;

/** A difference in points with its sign. */
export const signed = (value: number): string => `${value > 0 ? "+" : ""}${oneDecimal(100 * value)}`;

/** `-0.3 … +1.2`, in points; a dash where there is none. */
export const intervalText = (interval: Interval | null): string => (interval ? interval.map(signed).join(" … ") : "–");

/** The difference, its interval and the number of trials, as text. */
function differenceTexts({ mean, interval, trials }: PairedDifference): [string, string, string] {
  const missing = trials === 0 ? "– (no trial has all domains)" : "– (needs two trials)";
  return [signed(mean), interval ? intervalText(interval) : missing, trials === 0 ? "–" : String(trials)];
}

/** A p-value as text: `0.034`, `<0.001`. */
export const pText = (p: number | null): string => (p === null ? "–" : p < 0.001 ? "<0.001" : p.toFixed(3));

function verdict({ mean }: PairedDifference, p: number | null): string {
  if (p === null) return "–";
  if (p >= SIGNIFICANT) return "open";
  return mean > 0 ? "ahead" : "behind";
}
