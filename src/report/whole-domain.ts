/**
 * What is reported of own pictures: the accuracy of a run's model on all pictures of the domain it had not seen, as `nudge train`
 * prints it and the run's page shows it. Benchmarks are reported on the domain's `in` part, as their protocol has it; so are
 * runs that have not been assessed, such as those of a sweep, and other rules of selection than that by which a run keeps its
 * model.
 */

import type { AssessedDomain } from "../analysis/assessment.js";
import type { StoredRun } from "../records/index.js";
import { type GroupResult, type SelectionMethod, trainingDomain } from "../selection/index.js";

/** What selection chose; with `whole` where the accuracy is of all pictures of the domain. */
export interface ReportedResult extends GroupResult {
  readonly whole?: AssessedDomain;
}

/** Puts the accuracy on the whole domain in the place of that on its `in` part, where the chosen model is the one assessed. */
export function withWholeDomains(
  results: readonly GroupResult[],
  storedOf: (run: GroupResult["choice"]["run"]) => StoredRun | undefined,
  selection: SelectionMethod,
): ReportedResult[] {
  if (selection.id !== trainingDomain.id) return [...results];
  return results.map((result) => {
    const { choice, testDomain, method } = result;
    const assessment = storedOf(choice.run)?.assessment;
    if (!assessment || assessment.model !== method.model) return result;
    const whole = assessment.domains.find(({ name, part }) => name === testDomain && part === "held out");
    return whole ? { ...result, whole, choice: { ...choice, test: whole.accuracy } } : result;
  });
}
