/** A statement of the paper as a checked line: the statement, the two values that it compares, and the result. */

/** The required relation of the left value to the right one. */
export type Relation = "<" | "≤" | "=" | ">" | "≥";

/** holds: true here; fails: false here although its conditions are met; outside: its conditions are not met. */
export type Verdict = "holds" | "fails" | "outside";

/** An assumption, tested before the statements that depend on it. */
export interface Condition {
  readonly id: string;
  readonly statement: string;
  readonly left: number;
  readonly relation: Relation;
  readonly right: number;
  readonly met: boolean;
  readonly note?: string;
}

/** A checked line. */
export interface Check {
  readonly id: string;
  /** The lemma, proposition or proof of the statement. */
  readonly part: string;
  readonly statement: string;
  readonly left: number;
  readonly relation: Relation;
  readonly right: number;
  /** Whether the two values are base-ten logarithms. */
  readonly log10: boolean;
  /** Whether the relation is true for the two values, independently of the conditions. */
  readonly satisfied: boolean;
  readonly verdict: Verdict;
  /** The ids of the conditions that are not met. */
  readonly unmet: readonly string[];
  readonly note?: string;
}

/** The input of a line, from which `satisfied` and `verdict` follow. */
export interface CheckInput {
  id: string;
  statement: string;
  left: number;
  relation: Relation;
  right: number;
  log10?: boolean;
  /** For "=", "≤" and "≥": the tolerance for rounding errors, relative to the larger value. */
  tolerance?: number;
  needs?: readonly Condition[];
  note?: string;
}

/** The default tolerance. The expectations are accurate to about 1e-13. */
const ROUNDING = 1e-11;

/** Returns whether `left relation right` is true. Only strict relations have no tolerance. */
export function relates(left: number, relation: Relation, right: number, tolerance = ROUNDING): boolean {
  if (left === right) return relation === "=" || relation === "≤" || relation === "≥"; // also for infinite values
  const slack = tolerance * Math.max(Math.abs(left), Math.abs(right));
  switch (relation) {
    case "<":
      return left < right;
    case ">":
      return left > right;
    case "=":
      return Math.abs(left - right) <= slack;
    case "≤":
      return left < right || left - right <= slack;
    case "≥":
      return left > right || right - left <= slack;
  }
}

/** Creates the lines of one part. */
export function checksOf(part: string, inputs: readonly CheckInput[]): Check[] {
  return inputs.map(({ id, statement, left, relation, right, log10 = false, tolerance, needs = [], note }) => {
    const satisfied = relates(left, relation, right, tolerance);
    const unmet = needs.filter(({ met }) => !met).map((condition) => condition.id);
    const verdict: Verdict = unmet.length > 0 ? "outside" : satisfied ? "holds" : "fails";
    return { id, part, statement, left, relation, right, log10, satisfied, verdict, unmet, ...(note ? { note } : {}) };
  });
}
