/** A report as data: the tables of some runs, paired differences, and the paper's claims judged where that was asked for. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import type { Results } from "../records/index.js";
import { type SelectionMethod, trainingDomain } from "../selection/index.js";
import { type JudgedClaim, judgeClaims } from "./claims.js";
import { type FeatureTable, featureTables } from "./feature-table.js";
import { makeTables } from "./make-tables.js";
import { bareName } from "./names.js";
import { Outcome, type ReportedMethod } from "./outcome.js";
import { type PairedComparison, pairedComparison, regularizedPairs } from "./paired.js";
import type { Table } from "./table.js";

export interface Report {
  readonly outcome: Outcome;
  readonly tables: readonly Table[];
  readonly comparisons: readonly PairedComparison[];
  /** Empty unless asked for. */
  readonly claims: readonly JudgedClaim[];
  /** Likewise. */
  readonly features: readonly FeatureTable[];
}

export interface ReportOptions {
  readonly selection?: SelectionMethod;
  readonly published?: boolean;
  readonly claims?: boolean;
  /** Norms and ranks of the features. */
  readonly features?: boolean;
  /** Two methods to compare pair by pair, by title or key; regularized against plain ones unless told. */
  readonly compare?: readonly [string, string];
}

/** Makes the report of what was read. */
export function makeReport(results: Results, options: ReportOptions = {}): Report {
  const { selection = trainingDomain, published = false, claims = false, features = false, compare } = options;
  const outcome = new Outcome(results, selection);
  const pairs: readonly (readonly [ReportedMethod, ReportedMethod])[] = compare
    ? [[methodNamed(outcome, compare[0]), methodNamed(outcome, compare[1])]]
    : regularizedPairs(outcome);
  return {
    outcome,
    tables: makeTables(outcome, { published }),
    comparisons: pairs.flatMap((pair) => pairedComparison(outcome, pair) ?? []),
    claims: claims ? judgeClaims(outcome) : [],
    features: features ? featureTables(outcome) : [],
  };
}

function methodNamed({ methods }: Outcome, name: string): ReportedMethod {
  const found =
    methods.find(({ key, title }) => key === name || title === name) ??
    methods.find(({ title }) => bareName(title) === bareName(name));
  if (!found)
    throw new UsageError(
      unknownName(
        "method among these runs",
        name,
        methods.map(({ title }) => title),
      ),
    );
  return found;
}
