/**
 * Test-domain validation, which cheats and is reported as such: the last evaluation (no early stopping), judged by the
 * `out` part of the test domain itself. SWAD's own "oracle" does stop early; this is DomainBed's.
 */

import { type Choice, type SelectionMethod, singleTestRuns } from "./selection.js";

export const oracle: SelectionMethod = {
  id: "oracle",
  title: "test-domain validation set (oracle)",
  about: "the hyperparameters with the highest accuracy on held-back pictures of the test domain at the last step",
  select: (runs, testDomain) => {
    let last: Choice | null = null;
    for (const run of singleTestRuns(runs)) {
      for (const { step, accuracy } of run.evaluations) {
        const { in: test, out: validation } = accuracy.get(testDomain)!;
        // Of two with the same step the later: the reference sorts by step, stably, and takes the last.
        if (last === null || step >= last.step) last = { validation: validation!, test: test!, step, run };
      }
    }
    return last;
  },
};
