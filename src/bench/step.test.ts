import { expect, test } from "vitest";
import { stepText } from "../cli/bench-step.js";
import { benchStep } from "./step.js";

test("the variant that nudge train uses is among those timed, and is marked", async () => {
  const result = await benchStep({ backbone: "mobilenet_v2", batch: 1, device: "cpu", repeats: 1 });
  expect(result.ours.map(({ title, command }) => [title, command])).toEqual([
    ["plain", undefined],
    ["folded batch norm", undefined],
    ["folded, channels last", "nudge train"],
  ]);
  expect(result.ours.every(({ ms }) => ms > 0 && ms < Number.POSITIVE_INFINITY)).toBe(true);
  const lines = stepText(result).split("\n");
  expect(lines[3]).toMatch(/^ {2}nudge: folded, channels last\* +\d+\.\d ms$/);
  expect(lines.slice(4)).toEqual(["  *: used by nudge train"]);
});
