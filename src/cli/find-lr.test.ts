import { expect, test } from "vitest";
import { adviceWords } from "./find-lr.js";

const found = { points: [], steepest: 1e-2, tenthOfMinimum: 2e-3, decrease: 0.1, advised: 2e-3, diverged: true };

test("the advised rate is printed, and a test without a clear decrease says so instead", () => {
  expect(adviceWords(found, 1e-3)).toMatch(/\nThe learning rate of this run is 0.001. Set it with lr=2.0e-3.$/);
  const unclear = adviceWords({ ...found, decrease: 0.01, advised: null }, 1e-3);
  expect(unclear).toContain("decreases by 1.0 % only, which can be chance, so the test does not suggest a rate");
  expect(unclear).not.toContain("Set it");
  expect(adviceWords({ ...found, steepest: null, advised: null }, 1e-3)).toMatch(/^The loss does not decrease/);
});
