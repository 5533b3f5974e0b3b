/**
 * Leave-one-domain-out cross-validation: to judge a step without the test domain t, hold out each training domain v in
 * turn as well, and take the mean over v of the accuracy on v of the run that saw neither. A step counts when there is
 * exactly one run with t alone held out, and one for every pair; the highest mean wins, the smallest step of equals.
 */

import type { EvaluatedRun, StepEvaluation } from "../records/evaluated-run.js";
import { sum } from "./mean.js";
import { bestChoice, type Choice, type SelectionMethod } from "./selection.js";

interface Held {
  readonly run: EvaluatedRun;
  readonly evaluation: StepEvaluation;
}

export const leaveOneDomainOut: SelectionMethod = {
  id: "leave-one-domain-out",
  title: "leave-one-domain-out cross-validation",
  about:
    "the step and hyperparameters with the highest mean accuracy on each training domain when it, too, is held out of training",
  select: (runs, testDomain) => {
    const bySteps = new Map<number, Held[]>();
    for (const run of runs) {
      for (const evaluation of run.evaluations) {
        const { step } = evaluation;
        bySteps.set(step, [...(bySteps.get(step) ?? []), { run, evaluation }]);
      }
    }
    const ascending = [...bySteps].sort(([a], [b]) => a - b);
    return bestChoice(ascending.flatMap(([step, held]) => judge(step, held, testDomain) ?? []));
  },
};

/** What a step is worth, or null where a run is missing or the one to report appears twice. */
function judge(step: number, held: readonly Held[], testDomain: string): Choice | null {
  const single = held.filter(({ run }) => run.testDomains.length === 1);
  if (single.length !== 1) return null;
  const onPairs = new Map<string, number>();
  for (const { run, evaluation } of held) {
    if (run.testDomains.length !== 2) continue;
    const other = run.testDomains.find((domain) => domain !== testDomain);
    if (other !== undefined) onPairs.set(other, evaluation.accuracy.get(other)!.in!);
  }
  const training = held[0].run.domains.filter((domain) => domain !== testDomain);
  if (!training.every((domain) => onPairs.has(domain))) return null;
  const validation = sum(training.map((domain) => onPairs.get(domain)!)) / training.length;
  const [{ run, evaluation }] = single;
  return { validation, test: evaluation.accuracy.get(testDomain)!.in!, step, run };
}
