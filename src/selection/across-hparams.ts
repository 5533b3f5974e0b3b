/**
 * Model selection over a hyperparameter search. Runs that differ only in their hyperparameters form a group. The
 * selection method makes one choice for each draw of hyperparameters, and the draw with the best validation accuracy is
 * the result of the group, as in DomainBed.
 */

import { groupBy } from "../group-by.js";
import { type EvaluatedRun, type Method, methodKey } from "../records/evaluated-run.js";
import type { Choice, SelectionMethod } from "./selection.js";

/** The result of a search for one held-out domain in one trial. */
export interface GroupResult {
  readonly dataset: string;
  readonly method: Method;
  readonly testDomain: string;
  readonly trialSeed: number;
  /** The hyperparameters with the best validation accuracy. */
  readonly hparamsSeed: number;
  readonly choice: Choice;
  /** The number of draws that the result was chosen from. */
  readonly draws?: number;
}

/** Runs with the same trial, dataset and method that hold out `testDomain`, alone or together with another domain. */
export interface RunGroup extends Pick<GroupResult, "dataset" | "method" | "testDomain" | "trialSeed"> {
  readonly runs: readonly EvaluatedRun[];
}

/** Groups runs by trial, dataset, method and test domain. A run is in one group for each of its test domains. */
export function groupRuns(runs: readonly EvaluatedRun[]): RunGroup[] {
  const groups = new Map<string, RunGroup & { runs: EvaluatedRun[] }>();
  for (const run of runs) {
    const { trialSeed, dataset, method } = run;
    for (const testDomain of run.testDomains) {
      const key = JSON.stringify([trialSeed, dataset, methodKey(method), testDomain]);
      const group = groups.get(key) ?? { trialSeed, dataset, method, testDomain, runs: [] };
      group.runs.push(run);
      groups.set(key, group);
    }
  }
  return [...groups.values()];
}

/**
 * Returns one choice for each draw of hyperparameters that has one, best first. If several are equal, the largest seed
 * comes first. NaN is the worst value.
 */
export function rankHparams(
  group: Pick<RunGroup, "runs" | "testDomain">,
  selection: SelectionMethod,
): { hparamsSeed: number; choice: Choice }[] {
  const bySeed = groupBy(group.runs, ({ hparamsSeed }) => hparamsSeed);
  const value = ({ validation }: Choice): number => (Number.isNaN(validation) ? Number.NEGATIVE_INFINITY : validation);
  return [...bySeed]
    .sort(([a], [b]) => a - b)
    .flatMap(([hparamsSeed, runs]) => {
      const choice = selection.select(runs, group.testDomain);
      return choice === null ? [] : [{ hparamsSeed, choice }];
    })
    .sort((a, b) => compare(value(a.choice), value(b.choice)))
    .reverse();
}

/** Compares two numbers. Subtracting them would give NaN for two infinities. */
const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the result of every group that has one, in the order in which the groups first appear. */
export function selectGroups(runs: readonly EvaluatedRun[], selection: SelectionMethod): GroupResult[] {
  return groupRuns(runs).flatMap((group) => {
    const ranked = rankHparams(group, selection);
    if (ranked.length === 0) return [];
    const { dataset, method, testDomain, trialSeed } = group;
    return [{ dataset, method, testDomain, trialSeed, ...ranked[0], draws: ranked.length }];
  });
}
