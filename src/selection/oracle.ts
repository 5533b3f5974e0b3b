/**
 * Test-domain validation. It uses the test domain and is reported as an oracle: it takes the last evaluation (no early
 * stopping) and scores it on the `out` split of the test domain. SWAD's "oracle" does stop early; this one is
 * DomainBed's.
 */

import { type Choice, type SelectionMethod, singleTestRuns } from "./selection.js";

export const oracle: SelectionMethod = {
  id: "oracle",
  title: "test-domain validation set (oracle)",
  about: "the hyperparameters with the highest accuracy on validation pictures of the test domain at the last step",
  select: (runs, testDomain) => {
    let last: Choice | null = null;
    for (const run of singleTestRuns(runs)) {
      for (const { step, accuracy } of run.evaluations) {
        const { in: test, out: validation } = accuracy.get(testDomain)!;
        // If two evaluations have the same step, take the later one: DomainBed sorts stably by step and takes the last.
        if (last === null || step >= last.step) last = { validation: validation!, test: test!, step, run };
      }
    }
    return last;
  },
};
