/**
 * What is reported for own pictures: the accuracy of a run's model on all pictures of its held-out domain, as `nudge
 * train` prints it and the page of the run shows it. Benchmarks are reported on the `in` split of the domain, by their
 * protocol; so are runs that have not been assessed, such as those of a sweep, and selection methods other than the one
 * by which a run stores its model.
 */

import type { AssessedDomain } from "../analysis/assessment.js";
import type { StoredRun } from "../records/index.js";
import { type GroupResult, type SelectionMethod, trainingDomain } from "../selection/index.js";

/** The selection; with `whole` if the accuracy covers all pictures of the domain. */
export interface ReportedResult extends GroupResult {
  readonly whole?: AssessedDomain;
}

/** Replaces the accuracy on the `in` split by that on the whole domain, if the selected model is the assessed one. */
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
