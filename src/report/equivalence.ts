/**
 * Tests whether methods are equivalent within a margin, with two one-sided tests on the paired differences: late in
 * training, without model selection, and at the selected steps. An interval that includes zero does not show that two
 * methods are equal; a 90 % interval inside the margin shows, at the 5 % level, that they differ by less than the
 * margin.
 */

import { holm, type Interval, intervalAt, pEquivalent, SIGNIFICANT } from "../selection/trial-statistics.js";
import { intervalText, LATE, nameIn, otherOfAll, pText, signed } from "./comparison-table.js";
import { intervalWords, type PairedComparison, type PairedDifference } from "./paired.js";
import type { TextTable } from "./text-table.js";

export interface TestedEquivalence extends Pick<PairedDifference, "dataset" | "title" | "mean" | "trials"> {
  readonly first: string;
  readonly second: string;
  readonly outcome: "second half of training" | "chosen steps";
  /** The 90 % interval; null for one trial. */
  readonly interval: Interval | null;
  /** Whether the interval lies inside the margin. */
  readonly inside: boolean;
  readonly p: number | null;
  /** Corrected by Holm's method among the rows of the same outcome. */
  readonly corrected: number | null;
}

export interface Equivalences {
  /** A fraction. */
  readonly margin: number;
  readonly rows: readonly TestedEquivalence[];
}

/** Tests each comparison over several domains; the margin is a fraction. */
export function testEquivalence(comparisons: readonly PairedComparison[], margin: number): Equivalences {
  const of = (part: "late" | "rows", outcome: TestedEquivalence["outcome"]): TestedEquivalence[] => {
    const rows = comparisons.flatMap(({ first, second, [part]: differences }) =>
      differences.filter(({ domain }) => domain === null).map((row) => ({ ...row, first, second })),
    );
    const values = rows.map((row) => pEquivalent(row, margin));
    const corrected = holm(values);
    return rows.map(({ first, second, dataset, title, mean, trials, error }, i) => {
      const interval = intervalAt({ mean, trials, error }, 0.9);
      const inside = interval !== null && interval[0] > -margin && interval[1] < margin;
      const tested = { interval, inside, p: values[i], corrected: corrected[i] };
      return { first, second, outcome, dataset, title, mean, trials, ...tested };
    });
  };
  return { margin, rows: [...of("late", "second half of training"), ...of("rows", "chosen steps")] };
}

/** The tests as a table of texts. */
export function equivalenceTable({ margin, rows }: Equivalences): TextTable {
  const points = `±${Number((100 * margin).toPrecision(6))}`;
  const other = otherOfAll(rows);
  return {
    title: `Equivalence within ${points} points`,
    words: [
      intervalWords,
      `Two one-sided tests at the 5 % level. equivalent: the 90 % interval lies inside ${points} points and p, corrected by Holm's method for the rows of the same outcome, is below 0.05. not shown: there are too few trials to exclude a difference of ${points} points, which is no evidence of a difference either.`,
      ...(rows.some(({ outcome }) => outcome === "second half of training") ? [LATE] : []),
    ],
    head: [
      ...[
        other === null ? "methods" : "method",
        "held out",
        "difference",
        "90% interval",
        `inside ${points}`,
        "trials",
      ],
      ...["p", "Holm", "verdict"],
    ],
    rows: rows.map((row) => [
      ...[nameIn(row, other), titleOf(row), signed(row.mean), intervalText(row.interval)],
      ...[row.interval === null ? "–" : row.inside ? "yes" : "no", String(row.trials)],
      ...[pText(row.p), pText(row.corrected), verdict(row)],
    ]),
    notes: [],
  };
}

/** Titles of late rows contain their outcome. The titles of other rows are completed here, because both are in one table. */
const titleOf = ({ title, outcome }: TestedEquivalence): string =>
  outcome === "chosen steps" ? `${title}, ${outcome}` : title;

function verdict({ inside, corrected }: TestedEquivalence): string {
  if (corrected === null) return "– (needs two trials)";
  return inside && corrected < SIGNIFICANT ? "equivalent" : "not shown";
}
