/** Reports that follow a sweep: what is still to come is told cell by cell, with the one command that makes it. */

import { join } from "node:path";
import { expect, test } from "vitest";
import { writeManyRuns } from "../../tests/support/many-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { readResults } from "../records/index.js";
import { makeReport, reportText } from "./index.js";

const ALL = 22 * 4 * 3; // algorithms, domains held out, trials

test("cells say how many of the planned trials they have, and one note says what makes the rest", () => {
  inFolder((folder) => {
    const sweep = join(folder, "sweep");
    writeManyRuns(sweep, { count: ALL, made: 22 * 4 + 6 });
    const report = makeReport(readResults([sweep]));
    const [table] = report.tables;
    const trialsOf = (row: number): unknown[] => table.rows[row].cells.slice(0, 4).map(({ trials }) => trials);
    expect(table.rows).toHaveLength(22);
    expect(trialsOf(0)).toEqual(Array(4).fill([2, 3]));
    expect(trialsOf(1)).toEqual([
      [2, 3],
      [2, 3],
      [1, 3],
      [1, 3],
    ]);
    expect(table.notes).toEqual([
      `not all of its planned runs are there yet; make the rest with: nudge sweep run ${sweep}`,
      "an average with partial cells in it",
    ]);
    expect(report.outcome.notes).toEqual([
      `${sweep}: 94 of 264 planned runs are done. Make the rest with: nudge sweep run ${sweep}`,
    ]);
    expect(reportText(report, "md")).toMatch(/\| ERM +\| +\d+\.\d ± \d+\.\d \(2\/3\) \[1\] \|/);
  });
});

test("a finished sweep has whole cells and no notes", () => {
  inFolder((folder) => {
    writeManyRuns(folder, { count: ALL });
    const { tables, outcome } = makeReport(readResults([folder]));
    expect(tables[0].notes).toEqual([]);
    expect(outcome.notes).toEqual([]);
  });
});

test("a sweep of which no run has begun is told", () => {
  inFolder((folder) => {
    writeManyRuns(folder, { count: 4, made: 0 });
    const { runs, notes } = readResults([folder]);
    expect([runs, notes]).toEqual([[], [`${folder}: no run of the sweep has begun: nudge sweep run ${folder}`]]);
  });
});
