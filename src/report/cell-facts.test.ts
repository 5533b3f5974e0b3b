/** Which runs compete for a cell, and what cells say of themselves where they were not chosen from the same. */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pacsDomains, writeMadeRun, writeSearch } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report } from "./report.js";

const reportOf = (folder: string): Report => makeReport(readResults([folder]));
const titlesOf = ({ tables }: Report): string[] => tables[0].rows.map(({ title }) => title);

/** A run that SWAD ended at step 200 of `steps`, or one that trained to its end. */
const withSwad = (afterValley: string, steps: number) => ({
  averaging: [{ id: "swad", settings: { converge: 3, patience: 6, tolerance: 0.3, afterValley } }],
  settings: { steps },
});

test("a run that SWAD ended early gives no row of the trained model; one that trained to its end does", () => {
  inFolder((folder) => {
    const write = (name: string, trial: number, accuracy: number, more: object): string =>
      writeMadeRun(join(folder, name), { heldOut: "sketch", trial, accuracy, ...more });
    write("ended", 0, 0.2, withSwad("stop", 301));
    const report = reportOf(folder);
    expect(titlesOf(report)).toEqual(["SWAD"]);
    expect(report.outcome.notes[0]).toMatch(
      /^1 run that SWAD ended before the last step has no row of the trained model/,
    );
    write("erm", 0, 0.6, { settings: { steps: 301 } });
    const both = reportOf(folder);
    expect(titlesOf(both)).toEqual(["ERM", "SWAD"]);
    expect(both.tables[0].rows[0].cells[3].mean).toBeCloseTo(0.6);
  });
  inFolder((folder) => {
    writeMadeRun(folder, { heldOut: "sketch", trial: 0, accuracy: 0.5, ...withSwad("stop", 201) });
    expect(titlesOf(reportOf(folder))).toEqual(["ERM", "SWAD"]);
  });
});

test("a failed run is no candidate; an unfinished one is, and its cell says so", () => {
  inFolder((folder) => {
    const write = (draw: number, accuracy: number): string => {
      const path = join(folder, `draw${draw}`);
      return writeMadeRun(path, { heldOut: "sketch", trial: 0, accuracy, settings: { hparamsSeed: draw } });
    };
    const [, failed, open] = [write(0, 0.5), write(1, 0.95), write(2, 0.4)];
    for (const run of [failed, open]) rmSync(join(run, "done"));
    mkdirSync(join(failed, "failure"));
    writeFileSync(join(failed, "failure", "failure.json"), '{ "step": 5, "message": "the loss is NaN" }');
    const { tables, outcome } = reportOf(folder);
    expect(outcome.runs.map(({ source }) => source)).not.toContain(failed);
    expect(outcome.notes.join()).toContain(`1 run failed and is not in the tables: "${failed}"`);
    const [{ rows, notes }] = tables;
    expect(notes[rows[0].cells[3].note! - 1]).toContain(
      "a run of this cell is not finished and counts up to its last evaluation",
    );
  });
});

test("cells that were chosen from other numbers of draws say so, and missing trials of a search name all draws", () => {
  inFolder((folder) => {
    writeSearch(folder, 3);
    expect(reportOf(folder).tables[0].notes).toEqual([]);
    for (const draw of [1, 2]) rmSync(join(folder, `sketch-erm-trial1-draw${draw}`), { recursive: true });
    const [{ rows, notes }] = reportOf(folder).tables;
    const noteOf = (row: number, column: number): string => notes[rows[row].cells[column].note! - 1];
    expect(noteOf(0, 3)).toBe(
      "chosen from 3 and 1 draws of hyperparameters in trials 0, 1, and other cells of the table from 3; not comparable",
    );
    expect(rows[1].cells[3].note).toBeNull();
    rmSync(join(folder, "sketch-erm-trial1-draw0"), { recursive: true });
    const again = reportOf(folder).tables[0];
    expect(again.notes[again.rows[0].cells[3].note! - 1]).toMatch(/--trial-seed 1.*; likewise --hparams-seed 1, 2/);
  });
});

test("an ensemble with fewer members than others of the table says so", () => {
  inFolder((folder) => {
    for (const trial of [0, 1]) {
      const members = ["1", "2", "3"].slice(trial).map((digit) => digit.repeat(16));
      const combination = { kind: "ensemble", members };
      writeMadeRun(folder, { heldOut: "sketch", trial, accuracy: 0.5, settings: { combination } });
    }
    const [{ rows, notes }] = reportOf(folder).tables;
    expect(notes[rows[0].cells[3].note! - 1]).toBe(
      "combines 3 and 2 runs in trials 0, 1 where others combine 3; not comparable",
    );
  });
});

test("DomainBed's runs of other numbers of steps are different rows", () => {
  inFolder((folder) => {
    for (const [trial, steps] of [300, 5000].entries()) {
      mkdirSync(join(folder, String(trial)));
      const args = { dataset: "PACS", algorithm: "ERM", test_envs: [3], trial_seed: trial, hparams_seed: 0, steps };
      const accuracies = pacsDomains.flatMap((_, i) => [
        [`env${i}_in_acc`, 0.5],
        [`env${i}_out_acc`, 0.5],
      ]);
      const line = { args, hparams: {}, step: 0, ...Object.fromEntries(accuracies) };
      writeFileSync(join(folder, String(trial), "results.jsonl"), `${JSON.stringify(line)}\n`);
    }
    expect(titlesOf(reportOf(folder))).toEqual(["ERM [steps=300]", "ERM [steps=5000]"]);
  });
});
