/** Runs as selection takes them, made by hand. */

import type { EvaluatedRun } from "../../src/records/evaluated-run.js";

/** Accuracies at a step: domain by domain, `in` and `out`. */
export type HandMade = Readonly<Record<string, readonly [inside: number, out: number]>>;

/** A run of an invented dataset with domains a, b, c unless told; evaluations are 100 steps apart. */
export function makeRun(
  testDomains: readonly string[],
  evaluations: readonly HandMade[],
  more: Partial<EvaluatedRun> & { algorithm?: string } = {},
): EvaluatedRun {
  const { algorithm = "erm", ...rest } = more;
  return {
    source: `runs/${testDomains.join("-")}`,
    format: "nudge",
    dataset: "letters",
    domains: ["a", "b", "c"],
    testDomains,
    method: { algorithm, regularizers: [], model: "current", fixed: {} },
    trialSeed: 0,
    hparamsSeed: 0,
    evaluations: evaluations.map((byDomain, i) => ({
      step: i * 100,
      accuracy: new Map(Object.entries(byDomain).map(([domain, [inside, out]]) => [domain, { in: inside, out }])),
    })),
    ...rest,
  };
}
