import { expect, test } from "vitest";
import { nuclearNormText } from "../cli/bench-nuclear-norm.js";
import { liveTensors } from "../engine/device.js";
import { benchNuclearNorm } from "./nuclear-norm.js";

test("every route is timed next to torch.svd and checked against a float64 SVD, and no tensors remain", async () => {
  const before = liveTensors();
  const bench = await benchNuclearNorm({ device: "cpu", repeats: 2, shapes: [[12, 64]] });
  expect(liveTensors()).toBe(before);
  const [{ rows, width, svdMs, routes }] = bench.shapes;
  expect([rows, width]).toEqual([12, 64]);
  expect(routes.map(({ route }) => route)).toEqual(["svd", "gram", "newton-schulz"]);
  expect(routes.filter(({ automatic }) => automatic).map(({ route }) => route)).toEqual(["gram"]);
  for (const { ms, ratio, valueError } of routes) {
    expect(ms).toBeGreaterThan(0);
    expect(ratio).toBeCloseTo(svdMs / ms, 12);
    expect(valueError).toBeLessThan(1e-6);
  }
});

test("the text has a line per shape and marks the default route", async () => {
  const bench = await benchNuclearNorm({ device: "cpu", repeats: 1, shapes: [[4, 16], [8, 16]] }); // biome-ignore format: shapes
  const lines = nuclearNormText(bench).split("\n");
  expect(lines[1]).toContain("gram*");
  expect(lines[2]).toMatch(/^ +4 × 16 +[\d.]+ ms( +[\d.]+ ms +[\d.]+×){3}$/);
  expect(lines[3]).toMatch(/^ +8 × 16 /);
});

test("on a GPU the text has a column for the captured graph", () => {
  const way = { ms: 0.5, ratio: 4, valueError: 1e-9 };
  const text = nuclearNormText({
    ...{ device: "cuda:0", threads: 1, repeats: 1 },
    shapes: [
      {
        rows: 4,
        width: 16,
        svdMs: 2,
        routes: [{ route: "gram", automatic: true, ...way }],
        captured: { ...way, ms: 0.25, ratio: 8 },
      },
    ],
  });
  expect(text).toMatch(/gram\* +captured\n +4 × 16 +2\.00 ms +0\.50 ms +4\.0× +0\.25 ms +8\.0×\n/);
  expect(text).toContain("captured: newton-schulz with a fixed number of iterations in a CUDA graph");
});
