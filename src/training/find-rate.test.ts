import { expect, test } from "vitest";
import { resolve } from "../settings/resolve.js";
import { findRate, rateTest, smoothed } from "./find-rate.js";

test("smoothing is corrected for its start, as fastai's", () => {
  const [first, second] = smoothed([2, 4]);
  expect(first).toBeCloseTo(2, 12);
  expect(second).toBeCloseTo((0.98 * 2 + 4) / 1.98, 12);
});

test("the rate is taken where the smoothed loss falls fastest, before its minimum", () => {
  const losses = [2, 2, 2, 1, 1, 1, 1, 30];
  const { steepest, tenthOfMinimum, points } = rateTest(losses, (step) => 10 ** (step - 7), true);
  expect(steepest).toBeCloseTo(1e-4, 12);
  expect(points[3].lr).toBeCloseTo(1e-4, 12);
  expect(tenthOfMinimum).toBeCloseTo(1e-2, 9); // the smoothed loss decreases up to the last small value
  expect(rateTest([1, 2, 3], (step) => step, false).steepest).toBeNull();
});

test("the first losses, whose average is of few, do not decide", () => {
  const losses = [2.2, ...new Array(59).fill(2), ...new Array(40).fill(1.7)];
  const { steepest } = rateTest(losses, (step) => step, false);
  expect(steepest).toBe(60); // the average fell most at the second loss
});

test("rates grow up to where the loss rises, and a run with another optimizer is tested with it", async () => {
  const request = {
    data: "shapes",
    "data.perCell": 3,
    "data.size": 16,
    testDomains: "textured",
    batchSize: 8,
    threads: 1,
  };
  const tried = async (more: object) =>
    await findRate(await resolve({ ...request, ...more, device: "cpu" }), { updates: 30, from: 1e-5, to: 1e4 });
  const adam = await tried({});
  expect(adam.diverged).toBe(true);
  expect(adam.points.length).toBeLessThan(30);
  expect(adam.points[0].lr).toBeCloseTo(1e-5, 12);
  expect(adam.points[1].lr / adam.points[0].lr).toBeCloseTo(1e9 ** (1 / 29), 9);
  const sgd = await tried({ optimizer: "sgd", momentum: 0 });
  expect(sgd.points[0].loss).toBe(adam.points[0].loss); // the same initial weights and batch
  expect(sgd.points[2].loss).not.toBe(adam.points[2].loss);
  await expect(tried({ lr: 0 })).rejects.toThrow("lr must be above 0, got 0");
});

test("an algorithm without lr, or one that trains its parts in turns, is refused with the reason", async () => {
  const request = { data: "shapes", "data.perCell": 3, "data.size": 16, testDomains: "textured", batchSize: 8 };
  const tested = async (algorithm: string) =>
    await findRate(await resolve({ ...request, algorithm, threads: 1, device: "cpu" }), { updates: 4 });
  for (const algorithm of ["DANN", "CDANN"])
    await expect(tested(algorithm)).rejects.toThrow(`${algorithm} does not use lr; it has lrG and lrD instead`);
  await expect(tested("ADRMX")).rejects.toThrow("ADRMX trains its parts in turns");
});

test("the smaller rate is advised at the edge of the increase, and none if the loss hardly decreases", () => {
  const falling = (from: number, by: number): number[] =>
    Array.from({ length: 100 }, (_, step) => (step < from ? 2 : Math.max(0.1, 2 - by * (step - from))));
  const rateAt = (step: number): number => 10 ** (step / 10 - 10);
  const sharp = rateTest([...falling(80, 0.1), 50, 90], rateAt, true); // fastest where it ends
  expect(sharp.steepest).toBeGreaterThan(5 * sharp.tenthOfMinimum);
  expect(sharp.advised).toBe(sharp.tenthOfMinimum);
  const early = rateTest([...falling(30, 1), ...new Array(40).fill(0.1)], rateAt, false);
  expect(early.advised).toBe(early.steepest);
  const noise = Array.from({ length: 100 }, (_, step) => 2 - 0.0002 * step + 0.05 * Math.sin(7 * step));
  const { steepest, advised, decrease } = rateTest(noise, rateAt, false);
  expect(steepest).not.toBeNull();
  expect(decrease).toBeLessThan(0.02);
  expect(advised).toBeNull();
});
