/**
 * Tests whether one method is superior to another, and whether they are equivalent within a margin, on the paired
 * differences: late in training, without selection of a step, and at the selected steps. An interval that includes zero does
 * not show that two methods are equal; a 90 % interval inside the margin shows, with two one-sided tests at the 5 %
 * level, that they differ by less than the margin.
 */

import { intervalPoints, pText, signedPoints } from "../selection/signed-points.js";
import {
  areEqualTrials,
  holmOfRows,
  type Interval,
  intervalAt,
  pEquivalent,
  SIGNIFICANT,
} from "../selection/trial-statistics.js";
import { areMany, lateText, nameIn, otherOfAll } from "./comparison-table.js";
import { FEWEST_LATE } from "./late-training.js";
import { intervalWords, type PairedComparison, type PairedDifference } from "./paired.js";
import type { TextTable } from "./text-table.js";

/** Margins are often half a point, so one decimal would not show whether an interval lies inside. */
const DECIMALS = 2;

export interface TestedEquivalence extends Pick<PairedDifference, "dataset" | "title" | "mean" | "trials"> {
  readonly first: string;
  readonly second: string;
  readonly outcome: "second half of training" | "chosen steps";
  /** The 90 % interval; null for one trial and for equal trials. */
  readonly interval: Interval | null;
  /** Whether the interval lies inside the margin. */
  readonly inside: boolean;
  readonly p: number | null;
  /** Corrected by Holm's method among the rows of the same outcome. */
  readonly corrected: number | null;
  /** The test against a difference of zero: the 95 % interval, and p, corrected in the same way. */
  readonly superiority: Pick<TestedEquivalence, "interval" | "p" | "corrected">;
  /** Null for one trial. */
  readonly verdict: Verdict | null;
}

/** A difference of a few tenths of a point can be both: superior to zero and within the margin. */
export type Verdict = `${"superior" | "inferior"}${"" | ", equivalent"}` | "equivalent" | "undecided";

export interface Equivalences {
  /** A fraction. */
  readonly margin: number;
  readonly rows: readonly TestedEquivalence[];
  /** On comparisons without the second half of training; on excluded trials, if there are too many comparisons for a table each. */
  readonly notes: readonly string[];
  /** Whether a compared method was searched. */
  readonly searched?: boolean;
}

/** Tests each comparison over several domains; the margin is a fraction. */
export function testEquivalence(comparisons: readonly PairedComparison[], margin: number): Equivalences {
  const of = (part: "late" | "rows", outcome: TestedEquivalence["outcome"]): TestedEquivalence[] => {
    const rows = comparisons.flatMap(({ first, second, [part]: differences }) =>
      differences.filter(({ domain }) => domain === null).map((row) => ({ ...row, first, second })),
    );
    const values = rows.map((row) => pEquivalent(row, margin));
    const [corrected, different] = [values, rows.map(({ p }) => p)].map((each) => holmOfRows(rows, each));
    return rows.map(({ first, second, dataset, title, mean, trials, error, ...row }, i) => {
      const interval = intervalAt({ mean, trials, error }, 0.9);
      const inside = interval !== null && interval[0] > -margin && interval[1] < margin;
      const tested = { interval, inside, p: values[i], corrected: corrected[i] };
      const superiority = { interval: row.interval, p: row.p, corrected: different[i] };
      const verdict = areEqualTrials({ mean, trials, error })
        ? "undecided"
        : verdictOf(mean, superiority.corrected, inside ? tested.corrected : 1);
      return { first, second, outcome, dataset, title, mean, trials, ...tested, superiority, verdict };
    });
  };
  const notes = areMany(comparisons) ? [...new Set(comparisons.flatMap((each) => each.notes))] : [];
  return {
    margin,
    rows: [...of("late", "second half of training"), ...of("rows", "chosen steps")],
    notes: [...lateNotes(comparisons), ...notes],
    ...(comparisons.some(({ searched }) => searched) && { searched: true }),
  };
}

/** Why comparisons are not in the table of the second half of training, or not on every dataset. */
function lateNotes(comparisons: readonly PairedComparison[]): string[] {
  const other = otherOfAll(comparisons);
  const reasons = {
    evaluations: `some runs have fewer than ${FEWEST_LATE} evaluations in it; a smaller evaluateEvery gives more`,
    "trained weights": "it exists only for the weights of single runs, not for averages, soups and ensembles",
  };
  return Object.entries(reasons).flatMap(([lack, reason]) => {
    const without = comparisons.filter(({ lateLacks }) => lateLacks === lack);
    if (without.length === 0) return [];
    const some = without.some(({ late }) => late.length > 0) ? " on every dataset" : "";
    const names =
      without.length === comparisons.length ? "" : ` for ${without.map((each) => nameIn(each, other)).join(", ")}`;
    return [`Second half of training: there is no test${names}${some}, because ${reason}`];
  });
}

/** The verdict by p-values of superiority and equivalence, which are corrected if there are many. */
export function verdictOf(mean: number, different: number | null, equivalent: number | null): Verdict | null {
  if (different === null || equivalent === null) return null;
  const within = equivalent < SIGNIFICANT;
  if (different >= SIGNIFICANT) return within ? "equivalent" : "undecided";
  const side = mean > 0 ? "superior" : "inferior";
  return within ? `${side}, equivalent` : side;
}

/** The tests as tables of texts, one for each outcome. */
export function equivalenceTables({ margin, rows, notes, searched = false }: Equivalences): TextTable[] {
  const tables = (["second half of training", "chosen steps"] as const).flatMap((outcome) => {
    const own = rows.filter((row) => row.outcome === outcome);
    return own.length > 0 ? [tableOf(outcome, own, { margin, searched })] : [];
  });
  return tables.map((table, i) => (i === tables.length - 1 ? { ...table, notes } : table));
}

function tableOf(
  outcome: TestedEquivalence["outcome"],
  rows: readonly TestedEquivalence[],
  { margin, searched }: { margin: number; searched: boolean },
): TextTable {
  const points = `±${Number((100 * margin).toPrecision(6))}`;
  const other = otherOfAll(rows);
  const shown = { decimals: DECIMALS, margin };
  return {
    title: `Superiority, and equivalence within ${points} points: ${outcome}`,
    words: [
      intervalWords,
      ...(outcome === "second half of training" ? [lateText(searched)] : []),
      "superior or inferior: the difference is not zero, by a two-sided t test at the 5 % level (95 % interval and p ≠ 0). " +
        `equivalent: it is less than ${points} points, by two one-sided tests at the 5 % level (90 % interval and p ${points}). ` +
        "Verdicts are by p-values after Holm's correction for the rows of this table. undecided: there are too few trials to show either.",
    ],
    head: [
      ...[other === null ? "methods" : "method", "held out", "difference", "trials", "verdict"],
      ...["95% interval", "p ≠ 0", "Holm", "90% interval", `p ${points}`, "Holm"],
    ],
    rows: rows.map(({ superiority, ...row }) => [
      ...[nameIn(row, other), row.title.replace(`, ${outcome}`, ""), signedPoints(row.mean, shown)],
      ...[String(row.trials), row.verdict ?? "– (needs two trials)"],
      ...[intervalPoints(superiority.interval, shown), pText(superiority.p), pText(superiority.corrected)],
      ...[intervalPoints(row.interval, shown), pText(row.p), pText(row.corrected)],
    ]),
    notes: [],
  };
}
