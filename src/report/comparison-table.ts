/**
 * Paired differences as tables of texts that every format can print: one table per comparison, by held-out domain; if
 * there are many comparisons, one table of all with a row per dataset and a column of verdicts.
 */

import { intervalPoints, pText, signedPoints } from "../selection/signed-points.js";
import { areEqualTrials, SIGNIFICANT } from "../selection/trial-statistics.js";
import { type CorrectedDifference, intervalWords, type PairedComparison } from "./paired.js";
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
export const comparisonWords = (comparison: PairedComparison): string[] =>
  isOneTrial(comparison)
    ? [ONE_TRIAL]
    : [intervalWords, ...(hasTests(comparison) ? [verdictWords(CORRECTED_FOR)] : [])];

const hasTests = ({ rows, late }: PairedComparison): boolean => [...rows, ...late].some(({ p }) => p !== null);

function tableOfOne(comparison: PairedComparison): TextTable {
  const { first, second, rows, late, notes } = comparison;
  if (isOneTrial(comparison)) return tableOfOneTrial(comparison);
  const tested = hasTests(comparison);
  return {
    title: `${first} against ${second}, pair by pair`,
    words: [...comparisonWords(comparison), ...lateWords(comparison)],
    head: ["held out", `${first} − ${second}`, "95% interval", "trials", ...(tested ? TESTS : [])],
    rows: [...rows, ...late].map((row) => [row.title, ...differenceTexts(row), ...(tested ? testTexts(row) : [])]),
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

/** How a verdict is reached. */
const verdictWords = (correctedFor: string): string =>
  `p: two-sided p-value of the same t test; Holm: corrected for ${correctedFor}. ahead or behind: the corrected p is below 0.05; open: it is not. ` +
  "The intervals are not corrected: without any difference, about one in twenty excludes zero.";

/** What p-values are corrected for if comparisons have their own tables. */
const CORRECTED_FOR =
  "all comparisons of this report, separately for rows of one domain, of several, and of the second half of training";

function tableOfAll(comparisons: readonly PairedComparison[], part: "rows" | "late" = "rows"): TextTable {
  const other = otherOfAll(comparisons);
  const rows = comparisons.flatMap((comparison) =>
    comparison[part]
      .filter(({ domain }) => domain === null)
      .map((row) => ({ ...row, name: nameIn(comparison, other) })),
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
      `${verdictWords("the number of rows of this table")} By held-out domain: \`--compare\` with two of the names.`,
    ],
    head: [...[other === null ? "methods" : "method", "held out", "difference", "95% interval", "trials"], ...TESTS],
    rows: rows.map((row) => [row.name, row.title, ...differenceTexts(row), ...testTexts(row)]),
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

/** The difference, its interval and the number of trials, as text. */
function differenceTexts(row: CorrectedDifference): [string, string, string] {
  const { mean, interval, trials } = row;
  const known = interval ? intervalPoints(interval) : noIntervalText(row);
  return [signedPoints(mean), known, trials === 0 ? "–" : String(trials)];
}

function noIntervalText(row: CorrectedDifference): string {
  if (row.trials === 0) return "– (no trial has all domains)";
  return areEqualTrials(row) ? "– (all trials are equal)" : "– (needs two trials)";
}

/** The columns of a test. */
const TESTS = ["p", "Holm", "verdict"] as const;

const testTexts = (row: CorrectedDifference): string[] => [pText(row.p), pText(row.corrected), verdict(row)];

function verdict(row: CorrectedDifference): string {
  const p = row.corrected;
  if (p === null) return areEqualTrials(row) ? "open" : "–";
  if (p >= SIGNIFICANT) return "open";
  return row.mean > 0 ? "ahead" : "behind";
}
