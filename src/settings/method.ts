/**
 * The method of a run: an algorithm, penalties on its features and averages of its weights, by id or by the name in
 * papers.
 */

import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { algorithmNamed, algorithms } from "../algorithms/index.js";
import { type FollowerDefinition, followerNamed, followers } from "../averaging/index.js";
import { type GivenKeys, keys } from "../declared-settings/keys.js";
import { type OptimizerDefinition, optimizerNamed, type ScheduleDefinition, scheduleNamed } from "../optim/index.js";
import { type AnyRegularizerDefinition, regularizerNamed } from "../regularizers/index.js";
import { parseMethodName } from "../regularizers/shorthand.js";

export interface Method {
  readonly algorithm: AlgorithmDefinition;
  readonly regularizers: readonly AnyRegularizerDefinition[];
  readonly averaging: readonly FollowerDefinition[];
  /** Absent for Adam. */
  readonly optimizer?: OptimizerDefinition;
  /** Absent for a constant learning rate. */
  readonly schedule?: ScheduleDefinition;
}

/** Creates a method from its name and from what was named in addition. */
export function methodOf(
  given: Pick<GivenKeys, "algorithm" | "regularizers" | "averaging" | "optimizer" | "schedule">,
): Method {
  const named = parseMethodName(given.algorithm ?? "erm", {
    algorithms: Object.values(algorithms),
    averagings: Object.values(followers),
  });
  const unique = (names: readonly string[]) => [...new Set(names)];
  const penalties = unique([
    ...named.regularizers,
    ...(given.regularizers ?? []).map((name) => regularizerNamed(name).id),
  ]);
  const averages = unique([...(named.averaging ? [named.averaging] : []), ...(given.averaging ?? [])]);
  return {
    algorithm: algorithmNamed(named.algorithm),
    regularizers: penalties.map(regularizerNamed),
    averaging: averages.map(followerNamed),
    ...(isOther(given.optimizer, keys.optimizer.default) && { optimizer: optimizerNamed(given.optimizer) }),
    ...(isOther(given.schedule, keys.schedule.default) && { schedule: scheduleNamed(given.schedule) }),
  };
}

const isOther = (given: string | undefined, usual: string): given is string => given !== undefined && given !== usual;
