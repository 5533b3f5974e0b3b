import { expect, test } from "vitest";
import { UsageError } from "../errors.js";
import { linearTicks, logTicks, makeAxis } from "./axis.js";

const labels = (ticks: { label: string }[]) => ticks.map((tick) => tick.label);

test("linear ticks are round numbers written with the decimals they need", () => {
  expect(labels(linearTicks(0, 1, 5))).toEqual(["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
  expect(labels(linearTicks(-1, 1, 4))).toEqual(["−1.0", "−0.5", "0", "0.5", "1.0"]);
  expect(labels(linearTicks(130, 870, 5))).toEqual(["200", "400", "600", "800"]);
});

test("far ends of the number range get ticks with an exponent", () => {
  expect(labels(linearTicks(0, 3e-7, 3))).toEqual(["0", "1e−7", "2e−7", "3e−7"]);
  expect(labels(linearTicks(0, 2e9, 2))).toEqual(["0", "1e9", "2e9"]);
});

test("logarithmic ticks are powers of ten, with 2 and 5 between them where there is room", () => {
  expect(labels(logTicks(1, 100, 6))).toEqual(["1", "2", "5", "10", "20", "50", "100"]);
  expect(labels(logTicks(1e-4, 1, 6))).toEqual(["0.0001", "0.001", "0.01", "0.1", "1"]);
  expect(labels(logTicks(1e-36, 1, 4))).toEqual(["1e−36", "1e−27", "1e−18", "1e−9", "1"]);
});

test("an axis maps its ends to its pixels, and a logarithmic one its geometric middle to the middle", () => {
  const axis = makeAxis([], 10, 110, { min: 0, max: 4, where: "x" });
  expect([0, 1, 4].map(axis.at)).toEqual([10, 35, 110]);
  const log = makeAxis([], 0, 100, { min: 1, max: 100, log: true, where: "x" });
  expect(log.at(10)).toBeCloseTo(50, 10);
});

test.each([[[]], [[3]], [[0]], [[-2, -2, -2]], [[1e-300, 1e-300]], [[1e300, -1e300]]])(
  "an axis over %j has finite ends in order and at most a handful of ticks",
  (values) => {
    const axis = makeAxis(values, 0, 100, { where: "x" });
    expect(Number.isFinite(axis.from) && Number.isFinite(axis.to) && axis.from < axis.to).toBe(true);
    expect(axis.ticks.length).toBeLessThan(15);
    for (const tick of axis.ticks) expect(Number.isFinite(axis.at(tick.value))).toBe(true);
  },
);

test("a logarithmic axis refuses zero with an error that contains its place", () => {
  expect(() => makeAxis([1, 0], 0, 1, { log: true, where: 'chart "a", x axis' })).toThrow(
    /chart "a", x axis.*above zero, got 0/,
  );
  expect(() => makeAxis([], 0, 1, { min: 2, max: 1, where: "x" })).toThrow(UsageError);
});
