/**
 * Paired differences as tables of texts that every format can print: one table per comparison, by held-out domain; if
 * there are many comparisons, one table of all with a row per dataset and a column of verdicts.
 */

import { oneDecimal } from "../selection/cells.js";
import { areEqualTrials, holmOfRows, type Interval, SIGNIFICANT } from "../selection/trial-statistics.js";
import { intervalWords, type PairedComparison, type PairedDifference } from "./paired.js";
import type { TextTable } from "./text-table.js";

/** Up to this number of comparisons have their own table by domain: about what fits on a page. */
const MOST_APART = 4;

/** Whether this number of comparisons is combined in one table. */
export const areMany = (comparisons: readonly PairedComparison[]): boolean => comparisons.length > MOST_APART;

/** Creates the tables of some comparisons. If they are many and tested for equivalence, the tables of the tests have them all. */
export function comparisonTables(comparisons: readonly PairedComparison[], tested = false): TextTable[] {
  if (!areMany(comparisons)) return comparisons.map(tableOfOne);
  if (tested) return [];
  const late = comparisons.some((each) => each.late.length > 0);
  return [tableOfAll(comparisons), ...(late ? [tableOfAll(comparisons, "late")] : [])];
}

/** What the second half of training means. In a search, validation chose the hyperparameters. */
export const lateText = (searched: boolean): string =>
  "Second half of training: the mean over its evaluations instead of the selected step, " +
  (searched
    ? "so the step is not selected; the hyperparameters of searched methods were chosen by validation. "
    : "without model selection. ") +
  "On a held-out domain the accuracy varies by points from step to step, so this number is more stable.";

/** How to read differences between single trials, for readers who may not know what a trial is. */
const ONE_TRIAL =
  "Same split, same held-out domain; differences in points of accuracy. There is one trial each, so it is not known how much of a difference is chance. " +
  "Train both again with another `--trial-seed` (another split) to get an interval in this table.";

/** Whole domains are only evaluated at the end. */
const LATE_OWN = "It covers the part of the held-out domain that is evaluated during training.";

const isOneTrial = ({ own, rows }: PairedComparison): boolean => own && rows.every(({ trials }) => trials < 2);

/** What the differences of a comparison and their intervals are. */
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

const lateWords = ({ late, own, searched = false }: PairedComparison): string[] =>
  late.length > 0 ? [`${lateText(searched)}${own ? ` ${LATE_OWN}` : ""}`] : [];

/** The same without the column of intervals, which single trials cannot have. */
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

/** How a verdict is reached if there are many of them. */
const VERDICTS =
  "p: two-sided p-value of the same t test; Holm: corrected for the number of rows of this table. ahead or behind: the corrected p is below 0.05; open: it is not. " +
  "The intervals are not corrected: without any difference, about one in twenty excludes zero.";

function tableOfAll(comparisons: readonly PairedComparison[], part: "rows" | "late" = "rows"): TextTable {
  const other = otherOfAll(comparisons);
  const rows = comparisons.flatMap((comparison) =>
    comparison[part]
      .filter(({ domain }) => domain === null)
      .map((row) => ({ ...row, name: nameIn(comparison, other) })),
  );
  const corrected = holmOfRows(
    rows,
    rows.map(({ p }) => p),
  );
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
      ...(part === "late" ? [lateText(comparisons.some(({ searched }) => searched))] : []),
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

/** The method that all comparisons share; null if there are several. */
export function otherOfAll(comparisons: readonly Pick<PairedComparison, "second">[]): string | null {
  const others = new Set(comparisons.map(({ second }) => second));
  return others.size === 1 ? [...others][0] : null;
}

/**
 * The title of several comparisons: the method that all share, otherwise whether they concern penalties or were
 * requested.
 */
export function titleOf(
  comparisons: readonly PairedComparison[],
  { against, asked, penalties }: { against: (other: string) => string; asked: string; penalties: string },
): string {
  const other = otherOfAll(comparisons);
  if (other !== null && comparisons.length > 1) return against(other);
  return comparisons.some((each) => each.asked) ? asked : penalties;
}

/** The title of a comparison among others. */
export const nameIn = ({ first, second }: Pick<PairedComparison, "first" | "second">, other: string | null): string =>
  other === null ? `${first} − ${second}` : first;

/** A difference in points with its sign, and one decimal or more. */
export const signed = (value: number, decimals = 1): string =>
  `${value > 0 ? "+" : ""}${decimals === 1 ? oneDecimal(100 * value) : (100 * value).toFixed(decimals)}`;

/** `-0.3 … +1.2`, in points; a dash if there is none. */
export const intervalText = (interval: Interval | null, decimals = 1): string =>
  interval ? interval.map((value) => signed(value, decimals)).join(" … ") : "–";

/** The difference, its interval and the number of trials, as text. */
function differenceTexts(row: PairedDifference): [string, string, string] {
  const { mean, interval, trials } = row;
  return [signed(mean), interval ? intervalText(interval) : noIntervalText(row), trials === 0 ? "–" : String(trials)];
}

function noIntervalText(row: PairedDifference): string {
  if (row.trials === 0) return "– (no trial has all domains)";
  return areEqualTrials(row) ? "– (all trials are equal)" : "– (needs two trials)";
}

/** A p-value as text: `0.034`, `<0.001`. */
export const pText = (p: number | null): string => (p === null ? "–" : p < 0.001 ? "<0.001" : p.toFixed(3));

function verdict(row: PairedDifference, p: number | null): string {
  if (p === null) return areEqualTrials(row) ? "open" : "–";
  if (p >= SIGNIFICANT) return "open";
  return row.mean > 0 ? "ahead" : "behind";
}
