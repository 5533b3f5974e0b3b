/**
 * Runs over the second half of their training. On a held-out domain, evaluations differ from one to the next by points,
 * so the accuracy at a selected step is partly chance. The mean over many evaluations is more stable and involves no
 * selection of a step. In a search, the hyperparameters are still selected by validation.
 */

import { CURRENT } from "../records/index.js";
import type { GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "../settings/names.js";
import type { Outcome, ReportedMethod } from "./outcome.js";
import { type Measure, type PairedSummary, pairedComparison, type UncorrectedComparison } from "./paired.js";

/** The minimum number of evaluations for a mean that is more stable than a selected one. */
export const FEWEST_LATE = 4;

/** Means over held-out domains, trials, and evaluations from half of the last step on. */
export interface LateTraining {
  /** On the held-out domains, a fraction. */
  readonly accuracy: number;
  /** ‖F‖_F of the features of the training domains; null if it was not recorded. */
  readonly size: number | null;
  /** The difference to another method on the same domains and trials; null if there is none. */
  readonly difference: PairedSummary | null;
}

/**
 * The difference of two methods late in training, on each dataset whose runs were all evaluated often enough, and over
 * these.
 */
export function lateDifferences(
  outcome: Outcome,
  pair: readonly [ReportedMethod, ReportedMethod],
): Pick<UncorrectedComparison, "late" | "lateLacks"> {
  if (pair.some(({ method }) => method.model !== CURRENT)) return { late: [], lateLacks: "trained weights" };
  const isOften = (dataset: string): boolean =>
    pair.flatMap(({ key }) => outcome.resultsOf(key, dataset)).every(({ choice: { run } }) => isLateKnown(run));
  const datasets = outcome.datasets.filter(isOften);
  const isPaired = (dataset: string): boolean => pair.every(({ key }) => outcome.resultsOf(key, dataset).length > 0);
  const lacks = outcome.datasets.some((dataset) => !isOften(dataset) && isPaired(dataset));
  const found = pairedComparison(outcome, pair, { measure: lateAccuracy, datasets });
  const late = (found?.rows ?? [])
    .filter(({ domain }) => domain === null)
    .map((row) => ({
      ...row,
      title: `${row.dataset === null ? row.title : datasetTitle(row.dataset)}, second half of training`,
    }));
  return { late, ...(lacks && { lateLacks: "evaluations" }) };
}

/** The late training of a method's runs, with the difference to another method. */
export function lateTraining(
  outcome: Outcome,
  {
    own,
    domains,
    difference,
  }: Pick<LateTraining, "difference"> & { own: readonly GroupResult[]; domains: readonly string[] },
): LateTraining {
  const byDomain = domains.map((domain) => own.filter(({ testDomain }) => testDomain === domain));
  const sizes = own.map(({ choice: { run } }) => lateSize(outcome, run));
  return {
    accuracy: mean(byDomain.map((results) => mean(results.map(lateAccuracy)))),
    size: sizes.every(Number.isFinite) ? mean(sizes) : null,
    difference,
  };
}

type Evaluated = GroupResult["choice"]["run"];

const halfOf = (evaluations: Evaluated["evaluations"]): number => (evaluations.at(-1)?.step ?? 0) / 2;

function lateEvaluations(run: Evaluated): Evaluated["evaluations"] {
  const { evaluations } = run; // can be unpacked at each access
  const from = halfOf(evaluations);
  return evaluations.filter(({ step }) => step >= from);
}

/** Whether a run was evaluated often enough late in training. */
export const isLateKnown = (run: Evaluated): boolean => lateEvaluations(run).length >= FEWEST_LATE;

/** The mean accuracy of a run on its held-out domain from half of the last step on. */
export const lateAccuracy: Measure = ({ choice: { run }, testDomain }) =>
  mean(lateEvaluations(run).map(({ accuracy }) => accuracy.get(testDomain)?.in ?? Number.NaN));

/** NaN if it was not recorded. Evaluations are available, but for this the records of the run must be read. */
function lateSize(outcome: Outcome, run: Evaluated): number {
  const from = halfOf(run.evaluations);
  const sizes = (outcome.storedOf(run)?.records ?? []).filter(
    ({ step, model, domain, metric }) =>
      step >= from && model === CURRENT && domain === null && metric === "frobeniusNorm",
  );
  return mean(sizes.map(({ value }) => value));
}
