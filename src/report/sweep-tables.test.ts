/** Tests reports on a sweep: missing runs are noted cell by cell, with the command that executes them. */

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeManyRuns } from "../../tests/support/many-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { algorithms } from "../algorithms/index.js";
import { leaveOneDomainOut } from "../selection/index.js";
import { failAttempt, giveUp } from "../sweep/attempts.js";
import { cancelRun } from "../sweep/cancel-marks.js";
import { type PlannedRun, sweepPaths } from "../sweep/sweep-folder.js";
import { makeReport, reportText } from "./index.js";
import { readResults } from "./read-results.js";

const METHODS = Object.keys(algorithms).length;
const ALL = METHODS * 4 * 3; // methods × held-out domains × trials

test("cells say how many of the planned trials they have, and one note says what makes the rest", () => {
  inFolder((folder) => {
    const sweep = join(folder, "sweep");
    writeManyRuns(sweep, { count: ALL, made: METHODS * 4 + 6 });
    const report = makeReport(readResults([sweep]));
    const [table] = report.tables;
    const trialsOf = (row: number): unknown[] => table.rows[row].cells.slice(0, 4).map(({ trials }) => trials);
    expect(table.rows).toHaveLength(METHODS);
    expect(trialsOf(0)).toEqual(Array(4).fill([2, 3]));
    expect(trialsOf(1)).toEqual([
      [2, 3],
      [2, 3],
      [1, 3],
      [1, 3],
    ]);
    expect(table.notes).toEqual([
      `not all of its planned runs are finished; run the rest with: nudge sweep run ${sweep}`,
      "an average that includes partial cells",
    ]);
    expect(report.outcome.notes).toEqual([
      `${sweep}: ${METHODS * 4 + 6} of ${ALL} planned runs are done. Run the rest with: nudge sweep run ${sweep}`,
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

test("trials that a finished sweep has for some rows only are one note, and not a command for each run", () => {
  inFolder((folder) => {
    writeManyRuns(folder, { count: METHODS * 4 + 4 });
    const [{ rows, notes }] = makeReport(readResults([folder])).tables;
    expect(rows.map(({ cells }) => cells[0].trials)).toEqual([[2, 2], ...Array(METHODS - 1).fill([1, 2])]);
    expect(notes).toEqual([
      "the sweep is finished and has no run of this row in trial 1; plan it to add it",
      "an average that includes partial cells",
    ]);
  });
});

test("a sweep of which no run has started is reported", () => {
  inFolder((folder) => {
    writeManyRuns(folder, { count: 4, made: 0 });
    const { runs, notes } = readResults([folder]);
    expect([runs, notes]).toEqual([
      [],
      [`${folder}: no run of the sweep has started; start it with: nudge sweep run ${folder}`],
    ]);
  });
});

/** Reduces the folder of a run to that of a run that failed before its first evaluation. */
function fail(folder: string, { id, name }: PlannedRun): void {
  for (const file of ["records.jsonl", "done"]) rmSync(join(sweepPaths(folder).run(name), file));
  failAttempt(folder, id, new Error("the loss is NaN. The batch is in a folder with a long name"), 0);
}

test("failed runs are reported in one note with the first error, and cells point to retry", () => {
  inFolder((folder) => {
    const runs = writeManyRuns(folder, { count: 8 });
    for (const run of [runs[6], runs[1]]) fail(folder, run);
    const { tables, outcome } = makeReport(readResults([folder]));
    expect(outcome.notes).toEqual([
      `${folder}: 6 of 8 planned runs are done, 2 failed. ` +
        "The first to fail: pacs · cartoon held out · erm · trial 0 · draw 0: the loss is NaN. " +
        `Details: nudge sweep status ${folder}. Restore them with: nudge sweep retry ${folder}`,
    ]);
    expect(tables[0].notes).toEqual([
      `some of the sweep's runs failed (why: nudge sweep status ${folder}); restore them with: nudge sweep retry ${folder}`,
      "no average: a cell of the row is empty",
    ]);
  });
});

test("where others still wait, cells point to both; what was given up is no remedy's", () => {
  inFolder((folder) => {
    const runs = writeManyRuns(folder, { count: 12, made: 8 });
    fail(folder, runs[7]);
    cancelRun(folder, runs[8].id);
    giveUp(folder, runs[9].id, "others of its cell are better");
    const { tables, outcome } = makeReport(readResults([folder]));
    expect(outcome.notes[0]).toContain(
      "7 of 12 planned runs are done, 1 failed, 1 cancelled, 1 stopped early. It was pacs ·",
    );
    expect(outcome.notes[0]).toMatch(/nudge sweep retry \S+ Run the rest with: nudge sweep run \S+$/);
    expect(tables[0].notes[0]).toMatch(/nudge sweep retry \S+; then run the rest with: nudge sweep run \S+$/);
  });
});

test("a sweep whose runs all failed is not reported as not started", () => {
  inFolder((folder) => {
    const runs = writeManyRuns(folder, { count: 2 });
    for (const run of runs) fail(folder, run);
    rmSync(sweepPaths(folder).runs, { recursive: true }); // runs can fail before they have a folder
    const { notes, sweeps } = readResults([folder]);
    expect(notes).toEqual([]);
    expect(sweeps?.[0].firstFailure).toEqual({
      title: "pacs · art_painting held out · erm · trial 0 · draw 0",
      error: "the loss is NaN",
    });
  });
});

/** Writes the request into the sweep. */
function ask(folder: string, ...requests: object[]): void {
  const { sweep } = sweepPaths(folder);
  const file = JSON.parse(readFileSync(sweep, "utf8")) as object;
  writeFileSync(sweep, JSON.stringify({ ...file, requests: requests.map((given) => ({ given })) }));
}

const given = { data: "pacs", algorithms: "ERM, IRM", grid: { lr: "1e-3,1e-4" }, steps: "300" };
const planned = "nudge sweep plan --data pacs --algorithms 'ERM, IRM' --grid lr=1e-3,1e-4 steps=300";

test("cross-validation has one note on a sweep without pairs, with the command that adds them", () => {
  inFolder((folder) => {
    writeManyRuns(folder, { count: 8 });
    ask(folder, given);
    const notesOf = (): readonly string[] =>
      makeReport(readResults([folder]), { selection: leaveOneDomainOut }).tables[0].notes;
    const what =
      "leave-one-domain-out cross-validation also needs runs with two domains held out together, which the sweep does not have; plan it again";
    const average = "no average: a cell of the row is empty";
    expect(notesOf()).toEqual([`${what} with --pairs to add them: ${planned} --pairs --out ${folder}`, average]);
    ask(folder, { ...given, testDomains: "photo" }); // with this, --pairs would not add any runs
    expect(notesOf()[0]).toBe(
      `${what} with --pairs and without --test-domains to add them: ${planned} --pairs --out ${folder}`,
    );
    ask(folder, given, { ...given, pairs: true });
    expect(notesOf()[0]).toContain("ERM, art_painting held out: leave-one-domain-out");
  });
});

test("columns that a sweep was not asked for have one note, with the command that adds them", () => {
  inFolder((folder) => {
    writeManyRuns(folder, { count: 4, made: 2 });
    ask(folder, { ...given, testDomains: "art_painting,cartoon" });
    const [{ rows, notes }] = makeReport(readResults([folder])).tables;
    expect(rows[0].cells.map(({ note }) => note)).toEqual([null, null, 1, 1, 2]);
    expect(notes[0]).toBe(
      `the sweep was planned with --test-domains, which did not include this domain; plan it again without that option to add it: ${planned} --out ${folder}`,
    );
  });
});
