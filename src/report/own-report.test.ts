import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fitted, writeOwnRun, writeOwnTraining } from "../../tests/support/own-runs.js";
import { nuclearNormOn, writeMadeRun } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import { shareOf } from "../analysis/assess.js";
import { oracle } from "../selection/index.js";
import { toHtml } from "./html.js";
import { toJson } from "./json.js";
import { toLatex } from "./latex.js";
import { toMarkdown } from "./markdown.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report, type ReportOptions } from "./report.js";

const reportOf = (write: (folder: string) => void, options?: ReportOptions): Report =>
  inFolder((folder) => {
    write(folder);
    return makeReport(readResults([folder]), options);
  });

const withPenalty = { regularizers: nuclearNormOn, fixed: { ...fitted, "nuclear-norm.warmup": 0 } };

test("of own pictures a cell is the assessed accuracy on all of a domain's pictures, with the interval of so many", () => {
  const { tables } = reportOf((folder) => writeOwnTraining(folder, "a", { right: 12 }));
  const [{ id, title, columns, rows, words }] = tables;
  expect({ id, title, columns }).toEqual({ id: "wild/", title: "wild", columns: ["day", "dusk", "night", "Average"] });
  const { interval } = shareOf(12, 20);
  expect(rows[0].cells[0]).toMatchObject({ mean: 0.6, interval, pictures: 20, note: null }); // 8 of 16 on the `in` split
  expect(rows[0].cells[3].mean).toBeCloseTo(0.6, 12);
  expect(words[0]).toContain("on all its pictures (day 20, dusk 20, night 20), as in the report of each run");
});

test("runs that were not assessed, as those of a sweep, are reported on the in part, and the words say so", () => {
  const { tables } = reportOf((folder) => writeOwnTraining(folder, "a", { right: 12, assessed: false }));
  expect(tables[0].rows[0].cells[0]).toMatchObject({ mean: 0.5, note: null });
  expect(tables[0].rows[0].cells[0]).not.toHaveProperty("interval");
  expect(tables[0].words[0]).toContain("on its `in` split");
  expect(tables[0].words[0]).toContain("The report of a run covers all pictures and can show another number");
});

test("among assessed runs, one that is not, or whose assessment is damaged, has a note and no mark", () => {
  const { tables } = reportOf((folder) => {
    writeOwnTraining(folder, "a", { right: 12 });
    writeOwnRun(folder, "b-day", { right: 16, heldOut: "day", settings: withPenalty, assessed: false });
    const night = writeOwnRun(folder, "b-night", { right: 16, heldOut: "night", settings: withPenalty });
    writeFileSync(join(night, "assessment.json"), "{");
  });
  const [{ rows, notes }] = tables;
  for (const cell of [rows[1].cells[0], rows[1].cells[2]]) {
    expect(cell).toMatchObject({ mean: 0.75, mark: null });
    expect(notes[cell.note! - 1]).toContain("has not been assessed on all of them; not comparable");
  }
});

test("another rule of selection than the one a run keeps its model by is on the in part, and lists no models", () => {
  const { tables, models } = reportOf((folder) => writeOwnTraining(folder, "a", { right: 12 }), { selection: oracle });
  expect(tables[0].rows[0].cells[0].mean).toBe(0.5);
  expect(models).toEqual([]);
});

test("a benchmark keeps its protocol's part, assessed or not", () => {
  const { tables, models } = reportOf((folder) => {
    const run = writeMadeRun(folder, { heldOut: "sketch", trial: 0, accuracy: 0.5 });
    const domain = { name: "sketch", part: "held out", ...shareOf(9, 10), confusion: [] };
    const assessment = { format: 1, model: "current", step: 100, classes: [], domains: [domain], mostWrong: [] };
    writeFileSync(join(run, "assessment.json"), JSON.stringify(assessment));
  });
  expect(tables[0].rows[0].cells[3].mean).toBe(0.5);
  expect(tables[0].words[1]).toContain("on its `in` split, the mean over trials");
  expect(models).toEqual([]);
});

test("rows are named by what tells them apart, and what the program chose is said once", () => {
  const { outcome, tables, comparisons } = reportOf((folder) => {
    writeOwnTraining(folder, "erm", { right: 10 });
    writeOwnTraining(folder, "nu", { right: 12, settings: withPenalty });
    const probe = { steps: 201, evaluateEvery: 25, fixed: { probe: true }, ...{ probe: true } };
    writeOwnTraining(folder, "probe", { right: 14, settings: probe });
  });
  expect(outcome.methods.map(({ title }) => title)).toEqual(["ERM", "ERM [probe=true]", "ERM-NU"]);
  const words = tables[0].words.join("\n");
  expect(words).toContain("ERM, ERM-NU: 20 steps of 32 pictures per domain, evaluated every 10.");
  expect(words).toContain("ERM [probe=true]: 201 steps of 32 pictures per domain, evaluated every 25.");
  expect(words).not.toContain("augmentValidation=false");
  expect(comparisons.map(({ first, second }) => [first, second])).toEqual([["ERM-NU", "ERM"]]);
});

test("a length of training is named where nothing else tells two rows apart, and only that", () => {
  const longer = { ...fitted, steps: 40, evaluateEvery: 20 };
  const { outcome } = reportOf((folder) => {
    writeOwnTraining(folder, "short", { right: 10 });
    writeOwnTraining(folder, "long", { right: 12, settings: { steps: 40, evaluateEvery: 20, fixed: longer } });
    writeOwnTraining(folder, "slow", { right: 12, settings: { fixed: { ...fitted, lr: 0.001 } } });
  });
  expect(outcome.methods.map(({ title }) => title)).toEqual(["ERM [lr=0.001]", "ERM [steps=20]", "ERM [steps=40]"]);
});

test("own and benchmark rows of one report do not share a title", () => {
  const { outcome } = reportOf((folder) => {
    writeOwnTraining(folder, "own", { right: 10 });
    writeMadeRun(folder, { heldOut: "sketch", trial: 0, accuracy: 0.5 });
  });
  expect(outcome.methods.map(({ title }) => title)).toEqual(["ERM", "ERM [steps=20]"]);
});

test("the models to use are listed with what to expect of them", () => {
  const report = reportOf((folder) => {
    writeOwnTraining(folder, "a", { right: 12 });
    writeOwnRun(folder, "a-dusk", { right: 10, heldOut: "dusk" });
    writeOwnRun(folder, "b-none", { right: 0, settings: withPenalty });
  });
  const [{ models }] = report.models;
  expect(models).toMatchObject([
    { title: "ERM", expected: { lowest: 0.5, domain: "dusk" }, validation: 0.75, pictures: 12, done: true },
    { title: "ERM-NU", expected: null },
  ]);
  expect(models[0].expected?.mean).toBeCloseTo((0.6 + 0.5 + 0.6) / 3, 12);
  expect(report.tables[0].rows.map(({ title }) => title)).toEqual(["ERM"]); // the other run held out no domain
  const text = toMarkdown(report);
  expect(text).toContain("## wild: models to use");
  expect(text).toMatch(/\| ERM +\| 56\.7, lowest 50\.0 \(dusk\) \| 75\.0 \(12 pictures\) \| \S*a-none +\|/);
  expect(text).toMatch(/\| ERM-NU +\| unknown /);
  expect(text).toContain("60.0 (38.7–78.1)"); // Wilson's interval of 12 of 20
  expect(toHtml(report)).toContain('60.0 <span class="soft interval">(38.7–78.1)</span>');
  expect(toLatex(report)).toContain("60.0 (38.7--78.1)");
  expect(JSON.parse(toJson(report)).models[0].models[0].folder).toMatch(/a-none$/);
});

test("runs that held nothing out have no table of dashes, and it is said that nothing is known", () => {
  const report = reportOf((folder) => void writeOwnRun(folder, "a-none", { right: 0 }));
  expect(report.tables).toEqual([]);
  expect(toMarkdown(report)).toMatch(
    /^No domain was held out in these runs, so the accuracy on new domains is unknown/,
  );
});

test("a model alone is listed with the estimate that is kept beside it", () => {
  const report = reportOf((folder) => {
    const run = writeOwnRun(folder, "a-none", { right: 0 });
    const domain = (name: string, right: number) => ({ name, part: "held out", ...shareOf(right, 10), confusion: [] });
    const domains = [domain("day", 8), domain("dusk", 6)];
    const estimate = {
      format: 1,
      model: "current",
      step: 19,
      classes: [],
      domains,
      calibration: {},
      mostWrong: [],
      runs: ["x", "y"],
    };
    writeFileSync(join(run, "estimate.json"), JSON.stringify(estimate));
  });
  expect(report.models[0].models[0].expected).toEqual({ mean: 0.7, lowest: 0.6, domain: "dusk" });
});

test("only domains that were held out are columns", () => {
  const { tables } = reportOf((folder) => void writeOwnRun(folder, "a", { right: 10, heldOut: "dusk" }));
  expect(tables[0]).toMatchObject({ columns: ["dusk", "Average"], notes: [] });
});

test("differences of one trial have no column of intervals, but the way to get them; of two they have", () => {
  const both = (folder: string, trial: number): void => {
    const seeds = { trialSeed: trial };
    writeOwnTraining(folder, `erm${trial}`, { right: 10, settings: seeds });
    writeOwnTraining(folder, `nu${trial}`, { right: 12, settings: { ...withPenalty, ...seeds } });
  };
  const once = toMarkdown(reportOf((folder) => both(folder, 0)));
  expect(once).toMatch(/## ERM-NU against ERM\n\nSame split[^\n]*another `--trial-seed`/);
  expect(once).toMatch(/\| held out +\| ERM-NU − ERM \|\n/);
  expect(once).toMatch(/\| wild day +\| +\+10\.0 \|/);
  const twice = reportOf((folder) => {
    both(folder, 0);
    both(folder, 1);
  });
  expect(toMarkdown(twice)).toMatch(/\| held out +\| ERM-NU − ERM \| +95% interval \| trials \|/);
  expect(twice.tables[0].rows[0].cells[0]).toMatchObject({ mean: 0.5, error: 0, pictures: 20 });
  expect(twice.tables[0].rows[0].cells[0]).not.toHaveProperty("interval");
});

test("what a row lacks of a trial is one note with one command, whatever the number of domains", () => {
  const { tables } = reportOf((folder) => {
    for (const trialSeed of [0, 1]) writeOwnTraining(folder, `erm${trialSeed}`, { right: 10, settings: { trialSeed } });
    writeOwnTraining(folder, "nu", { right: 12, settings: withPenalty });
  });
  const [{ rows, notes }] = tables;
  expect(rows[1].cells.map(({ note }) => note)).toEqual([1, 1, 1, 2]);
  expect(rows[1].cells[0]).not.toHaveProperty("interval"); // the other cells of the table have none
  expect(notes[0]).toMatch(
    /^ERM-NU: runs of trial 1 are missing; train them with: nudge train --data photos\/wild\/ --algorithm erm --regularizer nuclear-norm --trial-seed 1 steps=20 /,
  );
});

test("several folders have a table each and no average over them", () => {
  const { tables } = reportOf((folder) => {
    writeOwnTraining(folder, "a", { right: 10 });
    writeOwnTraining(folder, "b", { right: 12, settings: { data: "photos/tame" } });
  });
  expect(tables.map(({ title }) => title)).toEqual(["wild", "tame"]);
});
