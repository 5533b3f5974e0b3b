import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeRun } from "../../tests/support/evaluated-runs.js";
import { nuclearNormOn, pacsDomains, writeMadeRun } from "../../tests/support/report-runs.js";
import { inFolder, somePacsSettings } from "../../tests/support/run-folders.js";
import { domainBedHparams } from "./domainbed-names.js";
import { makeReport, reportText, writeDomainBedRuns } from "./index.js";
import { readResults } from "./read-results.js";

/** ERM, and ERM-NU with two weights and a setting with a long name. All have explicit steps=201. */
function writeVariants(folder: string): void {
  for (const [i, heldOut] of pacsDomains.entries()) {
    const made = { heldOut, trial: 0, accuracy: 0.5 + i / 10 };
    writeMadeRun(join(folder, "plain"), { ...made, settings: { fixed: { steps: 201 } } });
    for (const weight of [0.03, 0.3]) {
      const fixed = { steps: 201, "nuclear-norm.scaling": "per-sample", "nuclear-norm.weight": weight };
      writeMadeRun(join(folder, `weight${weight}`), { ...made, regularizers: nuclearNormOn, settings: { fixed } });
    }
  }
}

const titles = ["ERM", "ERM-NU [scaling=per-sample weight=0.03]", "ERM-NU [scaling=per-sample weight=0.3]"];

test("DomainBed's tables have the rows of the Markdown table, in a column as wide as the longest", () => {
  inFolder((folder) => {
    writeVariants(folder);
    const report = makeReport(readResults([folder]));
    expect(report.tables[0].rows.map(({ title }) => title)).toEqual(titles);
    const lines = reportText(report, "domainbed").split("\n");
    const at = lines.indexOf("-------- Dataset: PACS, model selection method: training-domain validation set");
    const [longest] = titles.map(({ length }) => length).sort((a, b) => b - a);
    const rows = lines.slice(at + 1, at + 5);
    expect(rows.map((row) => row.slice(0, longest).trimEnd())).toEqual(["Algorithm", ...titles]);
    // The other columns have the width of DomainBed's.
    expect(rows.map((row) => row.slice(longest, longest + 24))).toEqual([
      `  ${"A".padEnd(20)}  `,
      ...titles.map(() => `  ${"50.0 +/- 0.0".padEnd(20)}  `),
    ]);
  });
});

test("a row may be named without its settings where only one row has that name", () => {
  inFolder((folder) => {
    writeVariants(folder);
    const two = readResults([folder]);
    expect(() => makeReport(two, { compare: [["ERM-NU", "ERM"]] })).toThrow('unknown method among these runs "ERM-NU"');
    rmSync(join(folder, "weight0.3"), { recursive: true });
    const [{ first }] = makeReport(readResults([folder]), { compare: [["ERM-NU", "ERM"]] }).comparisons;
    expect(first).toBe(titles[1]);
  });
});

test("CSV names methods as their rows are titled", () => {
  inFolder((folder) => {
    writeVariants(folder);
    const lines = reportText(makeReport(readResults([folder])), "csv")
      .trimEnd()
      .split("\r\n")
      .slice(1);
    expect([...new Set(lines.map((line) => line.split(",")[2]))]).toEqual(titles);
  });
});

test("runs are written under the same names, and read back into the same rows", () => {
  inFolder((folder) => {
    const [runs, out] = [join(folder, "runs"), join(folder, "out")];
    writeVariants(runs);
    const report = makeReport(readResults([runs]));
    const names = writeDomainBedRuns(report, out, [runs]).map((path) => {
      const [line] = readFileSync(path, "utf8").split("\n");
      return JSON.parse(line).args.algorithm as string;
    });
    expect([...new Set(names)].sort()).toEqual(titles);
    const [table] = makeReport(readResults([out])).tables;
    expect(table.rows.map(({ title, method }) => [title, method])).toEqual([
      [titles[0], "erm"],
      [titles[1], "erm+nuclear-norm [nuclear-norm.scaling=per-sample nuclear-norm.weight=0.03]"],
      [titles[2], "erm+nuclear-norm [nuclear-norm.scaling=per-sample nuclear-norm.weight=0.3]"],
    ]);
    expect(table.rows[1].cells.map(({ mean }) => mean)).toEqual(report.tables[0].rows[1].cells.map(({ mean }) => mean));
  });
});

test("a method that DomainBed has goes by its name there, and stands where it stands in its tables", () => {
  const at = { a: [0.5, 0.6], b: [0.4, 0.6], c: [0.3, 0.6] } as const;
  const ids = ["miro", "and-mask", "vrex", "group-dro"];
  const runs = ids.map((algorithm) => makeRun(["a"], [at], { algorithm }));
  const text = reportText(makeReport({ runs, stored: [], notes: [] }), "domainbed");
  const names = text.split("\n").slice(4, 8);
  expect(names.map((line) => line.split(" ")[0])).toEqual(["GroupDRO", "VREx", "ANDMask", "MIRO"]);
});

test("hyperparameters have the reference's names where it has them", () => {
  const hparams = { lr: 1e-3, batchSize: 32, dropout: 0.1, penaltyWeight: 10, annealSteps: 5, mine: true };
  expect(domainBedHparams({ ...somePacsSettings, algorithm: "irm", hparams, regularizers: nuclearNormOn })).toEqual({
    lr: 1e-3,
    batch_size: 32,
    resnet_dropout: 0.1,
    irm_lambda: 10,
    irm_penalty_anneal_iters: 5,
    mine: true,
    theta: 0.01,
    "nuclear-norm.scaling": "per-sample",
    "nuclear-norm.warmup": 101,
  });
  const unknown = { ...somePacsSettings, algorithm: "my-own", hparams: { strength: 1 }, regularizers: [] };
  expect(domainBedHparams(unknown)).toEqual({ strength: 1 });
});
