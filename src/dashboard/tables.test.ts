import { realpathSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeOwnTraining } from "../../tests/support/own-runs.js";
import { temporaryFolder } from "../../tests/support/picture-folder.js";
import { nuclearNormOn, pacsDomains, writeMadeRun, writePacsSweep } from "../../tests/support/report-runs.js";
import type { FixedSettings } from "../records/fixed-settings.js";
import { readResults } from "../report/read-results.js";
import { makeReport } from "../report/report.js";
import { cellNumbers } from "../report/table.js";
import { selections } from "../selection/index.js";
import { writePlan } from "../sweep/sweep-folder.js";
import type { ReportData } from "./api.js";
import { RunRows } from "./run-rows.js";
import { Tables } from "./tables.js";

async function tablesOf(root: string): Promise<{ tables: Tables; index: RunRows }> {
  const index = new RunRows(realpathSync(root));
  await index.look(() => {});
  return { tables: new Tables(index), index };
}

const ask = async (tables: Tables, selection: string, sweep?: string): Promise<ReportData> =>
  JSON.parse(await tables.json({ selection, published: false, sweep })) as ReportData;

test.each(Object.values(selections))("the tables under $id are those of nudge report", async (selection) => {
  const folder = temporaryFolder();
  writePacsSweep(join(folder, "runs"));
  const { tables } = await tablesOf(folder);
  const ours = await ask(tables, selection.id);
  const report = makeReport(readResults([realpathSync(folder)]), { selection });
  expect(ours.tables.map(({ title, columns }) => [title, columns])).toEqual(
    report.tables.map(({ title, columns }) => [title, columns]),
  );
  for (const [i, { rows }] of report.tables.entries())
    expect(
      ours.tables[i].rows.map(({ title, cells }) => [title, ...cells.map(({ text }) => text.split(" ")[0])]),
    ).toEqual(
      rows.map(({ title, cells, kind }) => [title, ...cells.map((cell) => cellNumbers(cell, kind)?.mean ?? "")]),
    );
  expect(ours.comparisons.map(({ first, second }) => [first, second])).toEqual(
    report.comparisons.map(({ first, second }) => [first, second]),
  );
  expect(ours.runs).toBe(24);
});

test("differences that are equal in all trials have no interval, with the reason", async () => {
  const folder = temporaryFolder();
  for (const trial of [0, 1])
    for (const regularizers of [[], nuclearNormOn])
      writeMadeRun(folder, { heldOut: "photo", trial, accuracy: 0.7 + regularizers.length / 100, regularizers });
  const { tables } = await tablesOf(folder);
  const [{ rows, words }] = (await ask(tables, "training-domain")).comparisons;
  expect(rows.map(({ interval, trials }) => [interval, trials])).toEqual([
    [null, 2],
    [null, 2],
  ]);
  expect(words.at(-1)).toContain("the differences of all 2 trials are equal, so their spread is not known");
});

test("an answer is kept until a number changes, and new runs are in the next", async () => {
  const folder = temporaryFolder();
  writePacsSweep(join(folder, "runs"));
  const { tables, index } = await tablesOf(folder);
  const asked = { selection: "oracle", published: false, sweep: undefined };
  const first = await tables.json(asked);
  expect(await tables.json(asked)).toBe(first);
  writeMadeRun(join(folder, "runs"), { heldOut: "photo", trial: 3, accuracy: 0.5 });
  await index.look(() => {});
  expect((JSON.parse(await tables.json(asked)) as ReportData).runs).toBe(25);
});

test("a run that appears twice counts once, and a note reports it", async () => {
  const folder = temporaryFolder();
  for (const copy of ["one", "two"]) writePacsSweep(join(folder, copy));
  const { tables } = await tablesOf(folder);
  const { runs, notes } = await ask(tables, "training-domain");
  expect(runs).toBe(24);
  expect(notes[0]).toContain("is a run of the same setting");
});

test("several weights of the penalty are a figure", async () => {
  const folder = temporaryFolder();
  for (const heldOut of pacsDomains.slice(0, 2)) {
    writeMadeRun(join(folder, "plain"), { heldOut, trial: 0, accuracy: 0.7 });
    for (const weight of [0.01, 0.1])
      writeMadeRun(join(folder, `weight${weight}`), {
        ...{ heldOut, trial: 0, accuracy: 0.7 + weight },
        regularizers: [{ ...nuclearNormOn[0], settings: { ...nuclearNormOn[0].settings, weight } }],
        settings: weight === 0.01 ? {} : { fixed: { "nuclear-norm.weight": weight } },
      });
  }
  const { tables } = await tablesOf(folder);
  const { weights } = await ask(tables, "training-domain");
  expect(weights).toHaveLength(1);
  expect(weights[0].points.map(({ weight, accuracy }) => [weight, accuracy])).toEqual([
    [0.01, expect.closeTo(71, 9)],
    [0.1, expect.closeTo(80, 9)],
  ]);
  expect(weights[0].baseline?.accuracy).toBeCloseTo(70, 9);
});

test("without runs there are no tables, and an unknown rule is an error that suggests the nearest name", async () => {
  const { tables } = await tablesOf(temporaryFolder());
  expect((await ask(tables, "oracle")).tables).toEqual([]);
  await expect(ask(tables, "oracel")).rejects.toThrow('did you mean "oracle"');
});

test("of own pictures the numbers are those of the runs' own reports, and the models to use are listed", async () => {
  const folder = temporaryFolder();
  writeOwnTraining(folder, "a", { right: 12 });
  const { tables } = await tablesOf(folder);
  const { tables: made, models } = await ask(tables, "training-domain");
  expect(made[0].rows[0].cells.map(({ text }) => text)).toEqual([...Array(3).fill("60.0 (38.7–78.1)"), "60.0"]);
  expect(models).toMatchObject([
    { title: "wild: models to use", head: ["model", "on a new domain", "validation", "folder"] },
  ]);
  expect(models[0].rows[0].slice(0, 3)).toEqual(["ERM", "60.0, lowest 60.0 (day)", "75.0 (12 pictures)"]);
});

test("a search that an earlier version made with a fixed setting is one row, in the report and here", async () => {
  const root = realpathSync(temporaryFolder());
  const sweep = join(root, "search");
  writePlan(
    sweep,
    { name: "search", protocol: [], requests: [{ given: { data: "pacs", hparams: 3, batchSize: 32 } }] },
    [],
  );
  // What was set by hand was kept only where the draw of the run was another.
  const kept: FixedSettings[] = [{}, { batchSize: 32 }, {}];
  for (const [hparamsSeed, given] of kept.entries()) {
    const request = { data: "pacs", algorithm: "erm", trialSeed: 0, hparamsSeed, batchSize: 32 };
    const accuracy = 0.5 + hparamsSeed / 10;
    const settings = { hparamsSeed, given, fixed: undefined, ...{ request } };
    writeMadeRun(join(sweep, "runs", `draw${hparamsSeed}`), { heldOut: "sketch", trial: 0, accuracy, settings });
  }
  const { tables } = await tablesOf(root);
  const [table] = (await ask(tables, "oracle")).tables;
  expect(table.rows.map(({ title }) => title)).toEqual(["ERM"]);
  const report = makeReport(readResults([root]), { selection: selections.oracle });
  expect(report.outcome.methods.map(({ method }) => method.fixed)).toEqual([{ batchSize: 32 }]);
  expect(report.outcome.results).toHaveLength(1);
});
