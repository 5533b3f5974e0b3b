import { expect, test } from "vitest";
import { type JudgedLogits, judge } from "../analysis/judged.js";
import { calibrationFacts, heldOutConfidence } from "./held-out-confidence.js";

/** Pictures with logits [margin, 0], of which a share is right. */
const fold = (domain: string, margin: number, right: number, count = 200): JudgedLogits[] =>
  Array.from({ length: count }, (_, i) => ({
    ...judge([margin, 0], { name: `${domain}/${i}`, domain, label: i < right * count ? 0 : 1 }),
    logits: [margin, 0],
  }));

test("the temperature of held-out domains is used where it helps them, each measured without itself", () => {
  // A margin of 3 means 95 %, but 75 % are right: T = 3 / ln 3.
  const found = heldOutConfidence([fold("a", 3, 0.75), fold("b", 3, 0.75), fold("c", 3, 0.75)]);
  expect(found.temperature).toBeCloseTo(3 / Math.log(3), 1);
  expect(found.nested).toHaveLength(3);
  expect(found.errorAtFitted!).toBeLessThan(found.errorAtOne);
  const { heldOut } = calibrationFacts(found, ["a", "b", "c"], [50, 99]);
  expect(heldOut).toMatchObject({ domains: ["a", "b", "c"], calibrationError: found.errorAtFitted });
  expect(heldOut!.percentiles.at(-1)).toBe(99);
});

test("where one domain is overconfident and another is not, the probabilities stay as they are", () => {
  const found = heldOutConfidence([fold("a", 1, 0.99), fold("b", 1, 0.5)]);
  expect(found.temperature).toBe(1);
  expect(found.nested).toEqual([1, 1]);
  expect(found.errorAtFitted!).toBeGreaterThan(found.errorAtOne);
});

test("validation pictures choose no temperature, and have no error of the estimate", () => {
  const found = heldOutConfidence([fold("a", 3, 0.75)], false);
  expect(found).toMatchObject({ temperature: 1, errorAtFitted: null, errors: [] });
  expect(found.thresholds).toHaveLength(1);
});
