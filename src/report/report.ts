/** A report as data: the tables of runs, paired differences, weights of penalties, and on request claims and features. */

import { unknownName } from "../closest-name.js";
import { UsageError } from "../errors.js";
import { type Compare, type JudgedClaim, judgeClaims } from "../paper/claims.js";
import { fixedText } from "../records/fixed-settings.js";
import { type SelectionMethod, trainingDomain } from "../selection/index.js";
import { bareName, besidesPenalties } from "../settings/names.js";
import { type BestDraw, bestDraws } from "./chosen.js";
import { withChosenMethod } from "./chosen-method.js";
import { type Coverage, coverages } from "./coverage.js";
import { type Equivalences, testEquivalence } from "./equivalence.js";
import { type FeatureTable, featureTables } from "./feature-table.js";
import { type Influence, influences } from "./influence.js";
import { lateDifferences } from "./late-training.js";
import { makeTables } from "./make-tables.js";
import { type ModelList, modelLists } from "./model-list.js";
import { Outcome, type ReportedMethod } from "./outcome.js";
import {
  equalWords,
  type PairedComparison,
  pairedComparison,
  regularizedPairs,
  type UncorrectedComparison,
  withCorrection,
} from "./paired.js";
import type { Results } from "./read-results.js";
import { pairRangeWords } from "./searched-ranges.js";
import type { Table } from "./table.js";
import { type WeightStudy, weightStudies } from "./weight-study.js";

/** The content of a report. */
export const reportParts = [
  "tables",
  "pairs",
  "claims",
  "weights",
  "features",
  "curves",
  "chosen",
  "influence",
  "coverage",
] as const;
export type ReportPart = (typeof reportParts)[number];

export interface Report {
  readonly outcome: Outcome;
  readonly tables: readonly Table[];
  /** The final models for own pictures. */
  readonly models: readonly ModelList[];
  readonly comparisons: readonly PairedComparison[];
  /** Null if not requested. */
  readonly equivalence: Equivalences | null;
  /** Empty if not requested. */
  readonly claims: readonly JudgedClaim[];
  /** Penalties that were run with several weights. */
  readonly weights: readonly WeightStudy[];
  /** Empty if not requested. */
  readonly features: readonly FeatureTable[];
  /** The best draw of hyperparameters of each method on each dataset; empty if not requested. */
  readonly best: readonly BestDraw[];
  /** How each searched hyperparameter affects accuracy; empty if not requested. */
  readonly influence: readonly Influence[];
  /** How often intervals contain the true value, estimated from the residuals of these runs; empty if not requested. */
  readonly coverage: readonly Coverage[];
  /** The methods whose training curves are drawn. */
  readonly curves: readonly ReportedMethod[];
}

export interface ReportOptions {
  readonly selection?: SelectionMethod;
  readonly published?: boolean;
  readonly claims?: boolean;
  /** Norms and ranks of the features. */
  readonly features?: boolean;
  /** The best hyperparameters, and the selection in each cell and trial. */
  readonly chosen?: boolean;
  /** How each searched hyperparameter affects accuracy. */
  readonly influence?: boolean;
  /** How often the intervals contain the true value. */
  readonly coverage?: boolean;
  /** A row with the method that validation chooses in each cell and trial. */
  readonly choose?: boolean;
  /** Methods to compare two by two, by title or key; by default regularized against plain ones. */
  readonly compare?: readonly (readonly [string, string])[];
  /** A method to compare all others with, instead of these pairs. */
  readonly against?: string;
  /** The margin, a fraction, within which the compared methods are tested for equivalence. */
  readonly equivalence?: number;
  /** The methods, by title or key, whose training curves are drawn (default: all). */
  readonly curves?: readonly string[];
  /** Only these parts. */
  readonly only?: readonly ReportPart[];
}

/** Makes the report of what was read. */
export function makeReport(results: Results, options: ReportOptions = {}): Report {
  const {
    selection = trainingDomain,
    published = false,
    claims = false,
    features = false,
    coverage = false,
    only,
  } = options;
  const has = (part: ReportPart, usual = true): boolean => only?.includes(part) ?? usual;
  const outcome = new Outcome(options.choose ? withChosenMethod(results, selection) : results, selection);
  const studies = weightStudies(outcome);
  const asked = pairsAsked(outcome, options);
  const pairs = asked ?? regularizedPairs(outcome).filter(([first]) => !isInStudy(first, studies));
  const compared = has("pairs") || options.equivalence !== undefined;
  const comparisons = compared
    ? withCorrection(pairs.flatMap((pair) => comparisonOf(outcome, pair, asked !== null)))
    : [];
  return {
    outcome,
    tables: has("tables") ? makeTables(outcome, { published }) : [],
    models: has("tables") ? modelLists(outcome) : [],
    comparisons: has("pairs") ? comparisons : [],
    equivalence: options.equivalence === undefined ? null : testEquivalence(comparisons, options.equivalence),
    claims: has("claims", claims) ? judgeClaims(outcome, comparer(outcome)) : [],
    weights: has("weights") ? studies : [],
    features: has("features", features) ? featureTables(outcome) : [],
    best: has("chosen", options.chosen ?? false) ? bestDraws(outcome) : [],
    influence: has("influence", options.influence ?? false) ? influences(outcome) : [],
    coverage: has("coverage", coverage) ? coverages(outcome) : [],
    curves: has("curves") ? (options.curves?.map((name) => methodNamed(outcome, name)) ?? outcome.methods) : [],
  };
}

function comparisonOf(
  outcome: Outcome,
  pair: readonly [ReportedMethod, ReportedMethod],
  asked: boolean,
): UncorrectedComparison[] {
  const found = pairedComparison(outcome, pair);
  if (!found) return [];
  const late = lateDifferences(outcome, pair);
  const ranges = new Set(outcome.datasets.flatMap((dataset) => pairRangeWords(outcome, pair, dataset)));
  return [{ ...found, asked, ...late, notes: [...found.notes, ...equalWords(found, late.late), ...ranges] }];
}

/** Paired differences over the domains of each dataset and over all, by which claims are checked. */
function comparer(outcome: Outcome): Compare {
  const methodOf = (name: string): ReportedMethod => outcome.methods.find(({ key }) => key === name)!;
  return (method, over, datasets) =>
    pairedComparison(outcome, [methodOf(method), methodOf(over)], { datasets })?.rows.filter(
      ({ domain }) => domain === null,
    ) ?? [];
}

/** The requested pairs. */
function pairsAsked(
  outcome: Outcome,
  { compare, against }: ReportOptions,
): (readonly [ReportedMethod, ReportedMethod])[] | null {
  if (compare) return compare.map(([first, second]) => [methodNamed(outcome, first), methodNamed(outcome, second)]);
  if (against === undefined) return null;
  const other = methodNamed(outcome, against);
  return outcome.methods.filter(({ key }) => key !== other.key).map((method) => [method, other]);
}

/**
 * Whether the weight or scaling of a penalty is explicit, so that its difference to the plain method is in the table of
 * a study.
 */
function isInStudy({ key, method }: ReportedMethod, studies: readonly WeightStudy[]): boolean {
  if (fixedText(besidesPenalties(method)) === fixedText(method.fixed)) return false;
  const settings = studies.flatMap(({ kinds }) => kinds.flatMap((kind) => kind.settings));
  return settings.some((setting) => setting.method === key && setting.difference !== null);
}

/** A row by its title; without the settings in brackets, where only one row has that name. */
function methodNamed({ methods }: Outcome, name: string): ReportedMethod {
  const withSettings = methods.filter(({ title }) => bareName(title.replace(/ \[.*\]$/, "")) === bareName(name));
  const found =
    methods.find(({ key, title }) => key === name || title === name) ??
    methods.find(({ title }) => bareName(title) === bareName(name)) ??
    (withSettings.length === 1 ? withSettings[0] : undefined);
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
