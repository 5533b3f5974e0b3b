/**
 * Runs over the second half of their training. On a held-out domain one evaluation differs from the next by points, so what a
 * chosen step shows is partly chance; the mean over many of them is less so, and nothing is selected for it.
 */

import { CURRENT } from "../records/index.js";
import type { GroupResult } from "../selection/index.js";
import { mean } from "../selection/mean.js";
import { datasetTitle } from "./names.js";
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
    const { difference } = lateTraining(outcome, { own, other, domains, purpose: [first.key, second.key, dataset] });
    // Pairs of other splits do not count, and are not told apart here.
    if (difference === null || difference.pairs !== pairs) return [];
    return [{ ...row, title: `${datasetTitle(dataset)}, second half of training`, ...difference }];
  });
}

/** The late training of a method's runs. */
export function lateTraining(outcome: Outcome, { own, other, domains, purpose }: LateRuns): LateTraining {
  const late = own.map((result) => lateRun(outcome, result));
  const others = other.map((result) => lateRun(outcome, result));
  const byDomain = domains.map((domain) => late.filter(({ testDomain }) => testDomain === domain));
  const differences = byDomain.map((runs) =>
    runs.flatMap(({ testDomain, trialSeed, accuracy }) => {
      const pair = others.find((each) => each.testDomain === testDomain && each.trialSeed === trialSeed);
      return pair ? [accuracy - pair.accuracy] : [];
    }),
  );
  const sizes = late.map(({ size }) => size ?? Number.NaN);
  return {
    accuracy: mean(byDomain.map((runs) => mean(runs.map(({ accuracy }) => accuracy)))),
    size: sizes.every(Number.isFinite) ? mean(sizes) : null,
    difference: differences.every(({ length }) => length > 0) ? summarize([differences], [...purpose, "late"]) : null,
  };
}

interface LateRun extends Pick<GroupResult, "testDomain" | "trialSeed">, Pick<LateTraining, "accuracy" | "size"> {}

type Evaluated = GroupResult["choice"]["run"];

const halfOf = ({ evaluations }: Evaluated): number => (evaluations.at(-1)?.step ?? 0) / 2;
const lateEvaluations = (run: Evaluated): Evaluated["evaluations"] =>
  run.evaluations.filter(({ step }) => step >= halfOf(run));

function lateRun(outcome: Outcome, { choice: { run }, testDomain, trialSeed }: GroupResult): LateRun {
  const from = halfOf(run);
  const late = lateEvaluations(run);
  const sizes = (outcome.storedOf(run)?.records ?? []).filter(
    ({ step, model, domain, metric }) =>
      step >= from && model === CURRENT && domain === null && metric === "frobeniusNorm",
  );
  return {
    testDomain,
    trialSeed,
    accuracy: mean(late.map(({ accuracy }) => accuracy.get(testDomain)?.in ?? Number.NaN)),
    size: sizes.length > 0 ? mean(sizes.map(({ value }) => value)) : null,
  };
}
