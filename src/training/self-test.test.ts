import { expect, test } from "vitest";
import { algorithms } from "../algorithms/index.js";
import { defaultDevice } from "../engine/device.js";
import { selfTest } from "./self-test.js";

// Here on whatever device there is: on the CPU updates are never replayed, and summing their scalars must change nothing.
test("the self-test passes on this machine, and looks at every algorithm twice", { timeout: 300_000 }, () => {
  const checks = [...selfTest(defaultDevice(), { updates: 200 })];
  expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  expect(checks).toHaveLength(2 * Object.keys(algorithms).length + 1);
});
