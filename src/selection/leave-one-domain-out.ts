/**
 * Leave-one-domain-out cross-validation. To evaluate a step without the test domain t, it also holds out each training
 * domain v in turn. The score is the mean over v of the accuracy on v of the run that trained on neither t nor v. A
 * step counts only if exactly one run holds out t alone and there is a run for every pair. The highest mean wins; if
 * several are equal, the smallest step wins.
 */

import { groupBy } from "../group-by.js";
import type { EvaluatedRun, StepEvaluation } from "../records/evaluated-run.js";
import { sum } from "./mean.js";
import { bestChoice, type Choice, type SelectionMethod } from "./selection.js";

interface Candidate {
  readonly run: EvaluatedRun;
  readonly evaluation: StepEvaluation;
}

export const leaveOneDomainOut: SelectionMethod = {
  id: "leave-one-domain-out",
  title: "leave-one-domain-out cross-validation",
  about:
    "the step and hyperparameters with the highest mean accuracy on each training domain when it, too, is held out of training",
  select: (runs, testDomain) => {
    const candidates = runs.flatMap((run) => run.evaluations.map((evaluation): Candidate => ({ run, evaluation })));
    const ascending = [...groupBy(candidates, ({ evaluation }) => evaluation.step)].sort(([a], [b]) => a - b);
    return bestChoice(ascending.flatMap(([step, here]) => judge(step, here, testDomain) ?? []));
  },
};

/** Returns the score of a step, or null if a run is missing or the run to report appears twice. */
function judge(step: number, candidates: readonly Candidate[], testDomain: string): Choice | null {
  const single = candidates.filter(({ run }) => run.testDomains.length === 1);
  if (single.length !== 1) return null;
  const onPairs = new Map<string, number>();
  for (const { run, evaluation } of candidates) {
    if (run.testDomains.length !== 2) continue;
    const other = run.testDomains.find((domain) => domain !== testDomain);
    if (other !== undefined) onPairs.set(other, evaluation.accuracy.get(other)!.in!);
  }
  const training = candidates[0].run.domains.filter((domain) => domain !== testDomain);
  if (!training.every((domain) => onPairs.has(domain))) return null;
  const validation = sum(training.map((domain) => onPairs.get(domain)!)) / training.length;
  const [{ run, evaluation }] = single;
  return { validation, test: evaluation.accuracy.get(testDomain)!.in!, step, run };
}
