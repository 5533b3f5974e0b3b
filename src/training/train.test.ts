import { expect, test } from "vitest";
import { isBetter } from "./evaluate-run.js";

test("the best model is the first of equals, but never that of a single update where another is as good", () => {
  const evaluations = [0.5, 0.5, 0.75, 0.75, 0.5].map((accuracy, i) => ({ step: 20 * i, accuracy }));
  const best = (from: readonly { step: number; accuracy: number }[]) =>
    from.reduce<{ step: number; accuracy: number } | null>((so, each) => (isBetter(each, so) ? each : so), null);
  expect(best(evaluations)?.step).toBe(40);
  expect(best(evaluations.slice(0, 2))?.step).toBe(20);
  expect(best([{ step: 0, accuracy: 0.6 }, ...evaluations.slice(1, 2)])?.step).toBe(0);
});
