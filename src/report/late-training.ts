/**
 * Runs over the second half of their training. On a held-out domain one evaluation differs from the next by points, so what a
 * chosen step shows is partly chance; the mean over many of them is less so, and nothing is selected for it.
 */

import { CURRENT } from "../records/index.js";
import type { GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "../settings/names.js";
import type { Outcome, ReportedMethod } from "./outcome.js";
import { type PairedDifference, summarize } from "./paired.js";

/** As many evaluations, at least, make a mean that is steadier than a chosen one. */
const FEWEST = 4;

/** Means over held-out domains, trials, and evaluations from half the last step on. */
export interface LateTraining {
  /** On the held-out domains, a fraction. */
  readonly accuracy: number;
  /** ‖F‖_F of the training domains' features; null where it was not recorded. */
  readonly size: number | null;
  /** To another method's on the same domains and trials; null where there is none. */
  readonly difference: Pick<PairedDifference, "mean" | "interval" | "pairs"> | null;
}

/** What was chosen of a method and of the one it is compared with; `purpose` keys the draws behind the interval. */
export interface LateRuns {
  readonly own: readonly GroupResult[];
  readonly other: readonly GroupResult[];
  readonly domains: readonly string[];
  readonly purpose: readonly string[];
}

/** How two methods differ late in training, on each dataset whose pairs were all evaluated often enough. */
export function lateDifferences(
  outcome: Outcome,
  [first, second]: readonly [ReportedMethod, ReportedMethod],
  compared: readonly PairedDifference[],
): PairedDifference[] {
  if (first.method.model !== CURRENT || second.method.model !== CURRENT) return [];
  return compared.flatMap((row) => {
    const { dataset, domain, pairs } = row;
    if (dataset === null || domain !== null) return [];
    const [own, other] = [first, second].map(({ key }) => outcome.resultsOf(key, dataset));
    if ([...own, ...other].some(({ choice: { run } }) => lateEvaluations(run).length < FEWEST)) return [];
    const domains = [...new Set(own.map(({ testDomain }) => testDomain))];
    const difference = lateDifference({ own, other, domains, purpose: [first.key, second.key, dataset] });
    // Pairs of other splits do not count, and are not told apart here.
    if (difference === null || difference.pairs !== pairs) return [];
    return [{ ...row, title: `${datasetTitle(dataset)}, second half of training`, ...difference }];
  });
}

/** The late training of a method's runs. */
export function lateTraining(outcome: Outcome, { own, other, domains, purpose }: LateRuns): LateTraining {
  const byDomain = domains.map((domain) => own.filter(({ testDomain }) => testDomain === domain));
  const sizes = own.map(({ choice: { run } }) => lateSize(outcome, run));
  return {
    accuracy: mean(byDomain.map((results) => mean(results.map(lateAccuracy)))),
    size: sizes.every(Number.isFinite) ? mean(sizes) : null,
    difference: lateDifference({ own, other, domains, purpose }),
  };
}

/** The paired difference of the late accuracies; null where a domain has no pair. */
function lateDifference({ own, other, domains, purpose }: LateRuns): LateTraining["difference"] {
  const differences = domains.map((domain) =>
    own.flatMap((result) => {
      const pair = other.find(({ testDomain, trialSeed }) => testDomain === domain && trialSeed === result.trialSeed);
      return result.testDomain === domain && pair ? [lateAccuracy(result) - lateAccuracy(pair)] : [];
    }),
  );
  return differences.every(({ length }) => length > 0) ? summarize([differences], [...purpose, "late"]) : null;
}

type Evaluated = GroupResult["choice"]["run"];

const halfOf = ({ evaluations }: Evaluated): number => (evaluations.at(-1)?.step ?? 0) / 2;
const lateEvaluations = (run: Evaluated): Evaluated["evaluations"] =>
  run.evaluations.filter(({ step }) => step >= halfOf(run));

const lateAccuracy = ({ choice: { run }, testDomain }: GroupResult): number =>
  mean(lateEvaluations(run).map(({ accuracy }) => accuracy.get(testDomain)?.in ?? Number.NaN));

/** NaN where it was not recorded. Evaluations are at hand, but for this the run's records have to be read. */
function lateSize(outcome: Outcome, run: Evaluated): number {
  const from = halfOf(run);
  const sizes = (outcome.storedOf(run)?.records ?? []).filter(
    ({ step, model, domain, metric }) =>
      step >= from && model === CURRENT && domain === null && metric === "frobeniusNorm",
  );
  return mean(sizes.map(({ value }) => value));
}
