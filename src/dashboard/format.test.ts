import { expect, test } from "vitest";
import { ago, counted, duration, percent, roughly, short } from "./format.js";

test("fractions are printed as percentages with one decimal, and missing values as a dash", () => {
  expect([percent(0.8546), percent(1), percent(null)]).toEqual(["85.5", "100.0", "–"]);
});

test("times are printed in suitable units", () => {
  expect([4, 59.6, 200, 18_120, 187_200, Number.NaN, -1].map(duration)).toEqual([
    ...["4 s", "1 min", "3 min 20 s", "5 h 2 min", "2 d 4 h", "–", "–"],
  ]);
  expect([4, 200, 18_120].map(roughly)).toEqual(["4 s", "3 min", "5 h"]);
  expect([0, 42e3, 3600e3, 9e8, -5].map(ago)).toEqual(["now", "42 s ago", "1 h ago", "10 d ago", "now"]);
});

test("counts agree with their nouns", () => {
  expect([counted(1, "run"), counted(0, "run"), counted(12_345, "run")]).toEqual(["1 run", "0 runs", "12,345 runs"]);
});

test("values have the digits that help", () => {
  expect([0, 0.12345, -2.5, 123.45, 12_345.6, 1.26e-7, -3e8].map(short)).toEqual([
    ...["0", "0.1235", "−2.50", "123.5", "12,346", "1.3e−7", "−3.0e8"],
  ]);
});
