/** The trials on which methods can be compared: those that all of them have with every held-out domain. */

import type { GroupResult } from "../selection/index.js";

interface HasResults {
  readonly results: readonly GroupResult[];
}

export interface SharedTrials<T> {
  readonly trials: readonly number[];
  /** Held-out domains that any of the methods has, in the order of the dataset. */
  readonly domains: readonly string[];
  /** The methods that have all of them. */
  readonly whole: readonly T[];
  readonly partial: readonly T[];
}

/**
 * Selects the trial that most methods have completely (the first one of equals), the methods that have it, and the
 * other trials that all of these have. So a method with a missing run does not remove trials of the others, and a
 * method with more trials is not compared on them.
 */
export function sharedTrials<T extends HasResults>(order: readonly string[], methods: readonly T[]): SharedTrials<T> {
  const { domains, trialsOf } = wholeTrials(order, methods);
  const seeds = [...new Set(methods.flatMap(trialsOf))].sort((a, b) => a - b);
  const having = (seed: number): T[] => methods.filter((method) => trialsOf(method).includes(seed));
  const most = Math.max(0, ...seeds.map((seed) => having(seed).length));
  const first = seeds.find((seed) => having(seed).length === most);
  const whole = first === undefined ? [] : having(first);
  return {
    trials: seeds.filter((seed) => whole.every((method) => trialsOf(method).includes(seed))),
    domains,
    whole,
    partial: methods.filter((method) => !whole.includes(method)),
  };
}

/** The largest set of the compared methods that share more trials than all do; null if there is none. */
export function longerTrials<T extends HasResults>(
  order: readonly string[],
  { whole, trials }: SharedTrials<T>,
): SharedTrials<T> | null {
  const { domains, trialsOf } = wholeTrials(order, whole);
  const [best] = whole
    .map(trialsOf)
    .filter((longer) => longer.length > trials.length)
    .map((longer) => ({
      trials: longer.toSorted((a, b) => a - b),
      whole: whole.filter((method) => longer.every((seed) => trialsOf(method).includes(seed))),
    }))
    .sort((a, b) => b.whole.length - a.whole.length || b.trials.length - a.trials.length);
  return best ? { ...best, domains, partial: whole.filter((method) => !best.whole.includes(method)) } : null;
}

/** All held-out domains, and by method the trials in which it has each of them. */
function wholeTrials<T extends HasResults>(
  order: readonly string[],
  methods: readonly T[],
): { domains: string[]; trialsOf: (method: T) => number[] } {
  const held = new Set(methods.flatMap(({ results }) => results.map(({ testDomain }) => testDomain)));
  const domains = order.filter((domain) => held.has(domain));
  const byMethod = new Map(
    methods.map((method) => {
      const isWhole = (seed: number): boolean =>
        domains.every((domain) =>
          method.results.some(({ trialSeed, testDomain }) => trialSeed === seed && testDomain === domain),
        );
      return [method, [...new Set(method.results.map(({ trialSeed }) => trialSeed))].filter(isWhole)];
    }),
  );
  return { domains, trialsOf: (method) => byMethod.get(method) ?? [] };
}
