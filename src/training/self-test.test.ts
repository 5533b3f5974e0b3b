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

test("a check that ends with an error is a failed one, and the last", () => {
  const checks = [...selfTest("cuda:99")];
  expect(checks).toHaveLength(1);
  expect(checks[0]).toMatchObject({ name: "ERM: as on the CPU", ok: false });
  expect(checks[0].detail).toMatch(/^.*cuda:99.*; nothing after it was looked at$/);
});
