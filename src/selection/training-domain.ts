/**
 * Training-domain validation, the paper's selection method. It chooses the evaluation with the highest mean accuracy on
 * the `out` splits of the training domains, or the earliest of several equal ones. Runs with two test domains are
 * ignored.
 */

import { mean } from "./mean.js";
import { bestChoice, type Choice, type SelectionMethod, singleTestRuns } from "./selection.js";

export const trainingDomain: SelectionMethod = {
  id: "training-domain",
  title: "training-domain validation set",
  about: "the step and hyperparameters with the highest mean accuracy on validation pictures of the training domains",
  select: (runs, testDomain) =>
    bestChoice(
      singleTestRuns(runs).flatMap((run) => {
        const training = run.domains.filter((domain) => domain !== testDomain);
        return run.evaluations.map(({ step, accuracy }): Choice => {
          const validation = mean(training.map((domain) => accuracy.get(domain)!.out!));
          return { validation, test: accuracy.get(testDomain)!.in!, step, run };
        });
      }),
    ),
};
