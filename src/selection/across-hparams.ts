/**
 * Selection over a search: runs are put in groups that differ in hyperparameters only, each draw yields its choice, and
 * the draw with the best validation accuracy gives the group's result, as the reference does it.
 */

import { type EvaluatedRun, type Method, methodKey } from "../records/evaluated-run.js";
import type { Choice, SelectionMethod } from "./selection.js";

/** One trial of one cell: what a search found for a held-out domain. */
export interface GroupResult {
  readonly dataset: string;
  readonly method: Method;
  readonly testDomain: string;
  readonly trialSeed: number;
  /** The hyperparameters that won. */
  readonly hparamsSeed: number;
  readonly choice: Choice;
}

/** Runs that share trial, dataset and method and hold out `testDomain`, alone or with another. */
export interface RunGroup extends Pick<GroupResult, "dataset" | "method" | "testDomain" | "trialSeed"> {
  readonly runs: readonly EvaluatedRun[];
}

/** Groups runs, one group for each of a run's test domains, in the order they first appear. */
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
 * A choice for each draw of hyperparameters that has one, best first. Of equals the largest seed comes first; NaN is
 * worst.
 */
export function rankHparams(
  group: Pick<RunGroup, "runs" | "testDomain">,
  selection: SelectionMethod,
): { hparamsSeed: number; choice: Choice }[] {
  const bySeed = new Map<number, EvaluatedRun[]>();
  for (const run of group.runs) bySeed.set(run.hparamsSeed, [...(bySeed.get(run.hparamsSeed) ?? []), run]);
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

/** A difference would be NaN for two infinities. */
const compare = (a: number, b: number): number => (a < b ? -1 : a > b ? 1 : 0);

/** The result of every group that has one, in the order the groups first appear. */
export function selectGroups(runs: readonly EvaluatedRun[], selection: SelectionMethod): GroupResult[] {
  return groupRuns(runs).flatMap((group) => {
    const [best] = rankHparams(group, selection);
    if (!best) return [];
    const { dataset, method, testDomain, trialSeed } = group;
    return [{ dataset, method, testDomain, trialSeed, ...best }];
  });
}
