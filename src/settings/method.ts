/** The method of a run: an algorithm, penalties on its features and averages of its weights, by id or as papers name them. */

import type { AlgorithmDefinition } from "../algorithms/algorithm.js";
import { algorithmNamed, algorithms } from "../algorithms/index.js";
import { type FollowerDefinition, followerNamed, followers } from "../averaging/index.js";
import { type AnyRegularizerDefinition, regularizerNamed } from "../regularizers/index.js";
import { parseMethodName } from "../regularizers/shorthand.js";
import type { GivenKeys } from "./keys.js";

export interface Method {
  readonly algorithm: AlgorithmDefinition;
  readonly regularizers: readonly AnyRegularizerDefinition[];
  readonly averaging: readonly FollowerDefinition[];
}

/** Puts a method together: what its name says, then what was named besides. */
export function methodOf(given: Pick<GivenKeys, "algorithm" | "regularizers" | "averaging">): Method {
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
  };
}
