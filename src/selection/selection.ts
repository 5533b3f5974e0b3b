/**
 * The interface of a selection method, which decides which model of a search is reported. It uses only what is known
 * without the test domain, except for the oracle. Selection methods are pure functions of evaluated runs and give the
 * same results as DomainBed (Gulrajani and Lopez-Paz, 2021, https://arxiv.org/abs/2007.01434), including ties and NaN.
 */

import type { EvaluatedRun } from "../records/evaluated-run.js";

/** The model that a selection method chose. */
export interface Choice {
  /** The validation accuracy that the choice is based on. */
  readonly validation: number;
  /** The accuracy to report, on the `in` split of the test domain. */
  readonly test: number;
  readonly step: number;
  /** The run with the chosen model. */
  readonly run: EvaluatedRun;
}

export interface SelectionMethod {
  /** The name of the file. */
  readonly id: string;
  /** The name in DomainBed's tables. */
  readonly title: string;
  /** A description for the text above a table. */
  readonly about: string;
  /**
   * Chooses the model to report from runs that differ only in their test domains: runs that hold out `testDomain`
   * alone, and runs that hold out `testDomain` and another domain. Returns null if runs are missing.
   */
  select(runs: readonly EvaluatedRun[], testDomain: string): Choice | null;
}

/** Returns the runs with exactly one test domain. */
export function singleTestRuns(runs: readonly EvaluatedRun[]): EvaluatedRun[] {
  return runs.filter(({ testDomains }) => testDomains.length === 1);
}

/**
 * Returns the choice with the highest validation accuracy, or the first of several equal ones. As in DomainBed, NaN is
 * not filtered: no value is greater than a NaN that comes first, and a later NaN is not greater than any value.
 */
export function bestChoice(choices: readonly Choice[]): Choice | null {
  let best: Choice | null = null;
  for (const choice of choices) if (best === null || choice.validation > best.validation) best = choice;
  return best;
}
