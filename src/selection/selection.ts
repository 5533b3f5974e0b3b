/**
 * The contract of a selection method: which of the models a search made is the one to report, by what is known without
 * the test domain (or, for the oracle, with it). Pure functions of evaluated runs, as the reference testbed computes
 * them (Gulrajani and Lopez-Paz, 2021, https://arxiv.org/abs/2007.01434), ties and NaN included.
 */

import type { EvaluatedRun } from "../records/evaluated-run.js";

/** What a selection method chose. */
export interface Choice {
  /** The accuracy it went by. */
  readonly validation: number;
  /** The accuracy to report: on the `in` part of the test domain. */
  readonly test: number;
  readonly step: number;
  /** The run that holds the model. */
  readonly run: EvaluatedRun;
}

export interface SelectionMethod {
  /** The file's name. */
  readonly id: string;
  /** As DomainBed's tables name it. */
  readonly title: string;
  /** What it does, for the words above a table. */
  readonly about: string;
  /**
   * The model to report among runs that share everything but their test domains: those with `testDomain` alone held
   * out, and those with it and another. Null where they do not suffice.
   */
  select(runs: readonly EvaluatedRun[], testDomain: string): Choice | null;
}

/** The runs that hold out one domain and no other. */
export function singleTestRuns(runs: readonly EvaluatedRun[]): EvaluatedRun[] {
  return runs.filter(({ testDomains }) => testDomains.length === 1);
}

/**
 * The choice with the highest validation accuracy, the first of equals. As in the reference, NaN is not filtered:
 * nothing is greater than a NaN that comes first, and a later one is greater than nothing.
 */
export function bestChoice(choices: readonly Choice[]): Choice | null {
  let best: Choice | null = null;
  for (const choice of choices) if (best === null || choice.validation > best.validation) best = choice;
  return best;
}
