import { expect, test } from "vitest";
import { ACCURACY, CURRENT, type RunRecord } from "../records/record.js";
import { runFigures } from "./figures.js";

const settings = { dataset: "pacs", testDomains: [], algorithm: "erm", regularizers: [] };
const accuracyAt = (step: number): RunRecord => ({
  step,
  model: CURRENT,
  domain: "photo",
  split: "out",
  metric: ACCURACY,
  value: 0.5,
});

test("a run with two evaluations has a curve, and a run with one evaluation has none", () => {
  expect(runFigures([accuracyAt(0), accuracyAt(10)], settings).map(({ name }) => name)).toEqual(["accuracy"]);
  expect(runFigures([accuracyAt(0)], settings)).toEqual([]);
});
