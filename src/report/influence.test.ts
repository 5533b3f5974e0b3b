import { expect, test } from "vitest";
import { writeSearch } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { reportFigures } from "./figures.js";
import { toHtml } from "./html.js";
import { influenceTables, spearman } from "./influence.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report } from "./report.js";

test("Spearman's correlation is of ranks, equals sharing theirs", () => {
  expect(spearman([1, 2, 3, 4], [1, 10, 100, 1000])).toBeCloseTo(1, 12);
  expect(spearman([1, 2, 3, 4], [4, 3, 2, 1])).toBeCloseTo(-1, 12);
  // scipy.stats.spearmanr([1, 2, 2, 5, 3], [2, 1, 4, 5, 3]).statistic
  expect(spearman([1, 2, 2, 5, 3], [2, 1, 4, 5, 3])).toBeCloseTo(0.66688592885535, 12);
  expect(spearman([1, 1], [1, 2])).toBeNaN();
});

const reportOn = (draws?: number): Report =>
  inFolder((folder) => {
    writeSearch(folder, draws);
    return makeReport(readResults([folder]), { only: ["influence"] });
  });

test("a hyperparameter's influence is what its draws have above the mean of their cell, in validation and test", () => {
  const { influence } = reportOn();
  expect(influence.map(({ title, hparam }) => `${title} ${hparam}`)).toEqual([
    ...["ERM lr", "ERM dropout", "ERM-NU lr", "ERM-NU dropout", "ERM-NU nuclear-norm.weight"],
  ]);
  const [lr, dropout] = influence;
  // The validation accuracies of draws 0, 1, 2 are 0.80, 0.82, 0.81 in trial 0; in trial 1 they are the same, plus 0.02 for draw 2.
  expect(lr.bins.map(({ title, runs }) => [title, runs])).toEqual([
    ["1e-4", 8],
    ["0.001", 8],
    ["0.003", 8],
  ]);
  expect(lr.bins[0].validation).toBeCloseTo((0.8 - 0.81 + (0.8 - (0.8 + 0.82 + 0.83) / 3)) / 2, 12);
  expect(lr.points).toHaveLength(24);
  expect(dropout.bins.map(({ title }) => title)).toEqual(["0", "0.1", "0.5"]);
  expect(lr.correlation!.validation).toBeGreaterThan(0);
});

test("many values are put in thirds, and a draw is in the same third for all domains", () => {
  const [lr] = reportOn(9).influence;
  expect(lr.bins.map(({ runs }) => runs)).toEqual([24, 24, 24]);
  expect(lr.bins[0].title).toMatch(/^1e-4 … /);
});

test("there is a table by dataset and a figure by method; a report without a search has neither", () => {
  const report = reportOn();
  const [{ title, rows }] = influenceTables(report.influence);
  expect(title).toBe("Influence of hyperparameters on PACS");
  expect(rows[0].slice(0, 4)).toEqual(["ERM", "lr", "1e-4", "8"]);
  expect(reportFigures(report).map(({ name }) => name)).toEqual(["influence-erm-on-pacs", "influence-erm-nu-on-pacs"]);
  expect(toHtml(report)).toContain("Influence of hyperparameters: ERM-NU on PACS");
  expect(reportOn(1).influence).toEqual([]);
});
