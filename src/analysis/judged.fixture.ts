/** Judged pictures for tests. */

import type { Judged } from "./judged.js";

/**
 * A picture judged with this confidence. If the prediction is wrong, the true class has the rest of the probability.
 */
export function judgedAs(label: number, predicted: number, confidence = 0.9, about: Partial<Judged> = {}): Judged {
  const truth = label === predicted ? confidence : 1 - confidence;
  return {
    name: "picture",
    domain: "a",
    label,
    predicted,
    confidence,
    truth,
    loss: -Math.log(truth),
    brier: 0,
    ...about,
  };
}
