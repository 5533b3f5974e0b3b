import { expect, test } from "vitest";
import { backbonesText } from "../cli/bench-backbones.js";
import { benchBackbones } from "./backbones.js";

test("each backbone has a line with the time of the step that nudge train takes", async () => {
  const backbones = ["mobilenet_v2", "vit_s_16"];
  const result = await benchBackbones({ backbones, batch: 1, device: "cpu", repeats: 1 });
  expect(result.rows.map(({ backbone }) => backbone)).toEqual(backbones);
  expect(result.rows.every(({ ms }) => ms > 0 && ms < Number.POSITIVE_INFINITY)).toBe(true);
  const [title, head, ...lines] = backbonesText(result).split("\n");
  expect(title).toContain("batch size 1");
  expect(head).toMatch(/^ {2}backbone +nudge$/);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/^ {2}vit_s_16 +\d+\.\d ms$/);
});

test("an unknown backbone is an error before anything is timed", async () => {
  const started: string[] = [];
  const options = { batch: 1, device: "cpu", repeats: 1, onStart: (id: string) => void started.push(id) };
  await expect(benchBackbones({ ...options, backbones: ["mobilenet_v2", "vit_b_61"] })).rejects.toThrow("vit_b_16");
  expect(started).toEqual([]);
});
