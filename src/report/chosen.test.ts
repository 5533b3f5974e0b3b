import { join } from "node:path";
import { expect, test } from "vitest";
import { writeMadeRun, writeSearch } from "../../tests/support/report-runs.js";
import { inFolder } from "../../tests/support/run-folders.js";
import type { RunSettings } from "../records/run.js";
import { oracle } from "../selection/index.js";
import { chosenOf } from "./chosen.js";
import { toCsv } from "./csv.js";
import { drawsOf, hparamsOf } from "./draws.js";
import { toJson } from "./json.js";
import { toMarkdown } from "./markdown.js";
import { readResults } from "./read-results.js";
import { makeReport, type Report, type ReportOptions } from "./report.js";
import { writeDomainBedRuns } from "./write-report.js";

const reportOn = (options: ReportOptions = {}): Report =>
  inFolder((folder) => {
    writeSearch(folder);
    const report = makeReport(readResults([folder]), options);
    chosenOf(report.outcome); // reads what it needs while the folder exists
    return report;
  });

test("JSON holds, by cell and trial, the run, the step, the draw with its hyperparameters, and both accuracies", () => {
  const { chosen } = JSON.parse(toJson(reportOn())) as { chosen: ReturnType<typeof chosenOf> };
  expect(chosen).toHaveLength(2 * 4 * 2); // methods × domains × trials
  const cell = chosen.find(({ title, domain, trial }) => title === "ERM-NU" && domain === "sketch" && trial === 1)!;
  // Draw 2 has the highest validation accuracy in trial 1; its middle evaluation is the best.
  expect(cell).toMatchObject({ dataset: "pacs", method: "erm+nuclear-norm", step: 100, draw: 2 });
  expect(cell.run).toMatch(/sketch-erm\+nuclear-norm-trial1-draw2$/);
  expect(cell.hparams).toEqual({ lr: 0.003, dropout: 0.1, "nuclear-norm.weight": 0.03 });
  expect(cell.validation).toBeCloseTo(0.83, 12);
  expect(cell.test).toBeCloseTo(0.63, 12);
});

test("CSV has a line for each cell, followed by a line for each of its trials", () => {
  const [head, ...lines] = toCsv(reportOn()).trimEnd().split("\r\n");
  const columns = head.split(",");
  expect(columns.slice(-6)).toEqual(["trial", "step", "draw", "validation", "hparams", "run"]);
  const trials = lines.filter((line) => line.startsWith("pacs,training-domain,ERM,trial,S,"));
  expect(trials).toHaveLength(2);
  expect(trials[0]).toMatch(
    /^pacs,training-domain,ERM,trial,S,0\.6\d*,,,,,,,,0,100,1,0\.8\d*,"\{""lr"":0\.001,""dropout"":0\.5\}",.+draw1$/,
  );
  expect(lines.filter((line) => line.includes(",own,"))).toHaveLength(2 * 5);
});

test("the best hyperparameters of a method are those of the draw that did best over all held-out domains", () => {
  const { best } = reportOn({ chosen: true });
  expect(best.map(({ title, trial, draw, draws, domains }) => ({ title, trial, draw, draws, domains }))).toEqual([
    { title: "ERM", trial: 1, draw: 2, draws: 6, domains: 4 },
    { title: "ERM-NU", trial: 1, draw: 2, draws: 6, domains: 4 },
  ]);
  expect(best[0]).toMatchObject({ searched: ["lr", "dropout"], hparams: { lr: 0.003, dropout: 0.1 } });
  expect(best[0].validation).toBeCloseTo(0.83, 12);
});

/** A search over optimizers and schedules with one held-out domain and three draws of equal accuracy. */
function writeOptimizerSearch(folder: string): void {
  const draws: Partial<RunSettings>[] = [
    { warmupSteps: 10, clipNorm: 1.25 },
    { optimizer: { id: "sgd", settings: { momentum: 0.9 } }, schedule: { id: "cosine", settings: {} }, headLr: 0.5 },
    { optimizer: { id: "sgd", settings: { momentum: 0.5 } }, warmupSteps: 7, clipNorm: 0.75, freeze: "stem" },
  ];
  const fixed = {
    ...{ optimizer: "{adam,sgd}", schedule: "{constant,cosine}", warmupSteps: "int(U(0,20))", clipNorm: "U(0.5,2)" },
    ...{ headLr: "{1,0.5}", freeze: "{none,stem}", weightDecay: "U(0,0)", steps: 201 },
  };
  draws.forEach((drawn, draw) => {
    const settings = { ...drawn, fixed, hparamsSeed: draw, hparams: { lr: 0.001, weightDecay: 0 }, algorithm: "erm" };
    writeMadeRun(join(folder, `draw${draw}`), { heldOut: "sketch", trial: 0, accuracy: 0.5, settings });
  });
}

test("all searched settings are shown: optimizer, schedule, their options and others, with the defaults of a draw", () => {
  const { text, cells, names } = inFolder((folder) => {
    writeOptimizerSearch(folder);
    const report = makeReport(readResults([folder]), { only: ["chosen", "influence"], selection: oracle });
    const hparams = drawsOf(report.outcome).map(({ choice }) => hparamsOf(report.outcome, choice.run));
    return {
      text: toMarkdown(report),
      cells: hparams.sort((a, b) => Number(a.headLr) - Number(b.headLr)),
      names: report.influence.map(({ hparam, points }) => `${hparam} ${points.length}`),
    };
  });
  const usual = { lr: 0.001, weightDecay: 0, schedule: "constant", headLr: 1 };
  expect(cells).toHaveLength(3);
  expect(cells).toContainEqual({ ...usual, optimizer: "adam", warmupSteps: 10, clipNorm: 1.25, freeze: "none" });
  expect(cells).toContainEqual({
    ...{ ...usual, optimizer: "sgd", warmupSteps: 7, clipNorm: 0.75, freeze: "stem", "sgd.momentum": 0.5 },
  });
  expect(text).toMatch(
    /\| weightDecay=0 optimizer=(adam|sgd) schedule=\w+ warmupSteps=\d+ clipNorm=[\w.]+ headLr=[\d.]+ freeze=\w+( sgd\.momentum=0\.\d)? \|/,
  );
  expect(names).toEqual([
    ...["optimizer 3", "schedule 3", "warmupSteps 3", "clipNorm 3", "headLr 3", "freeze 3", "sgd.momentum 2"],
  ]);
});

test("--chosen prints both tables; without it neither is there", () => {
  const text = toMarkdown(reportOn({ only: ["chosen"] }));
  expect(text).toMatch(
    /^\| ERM-NU +\| 83\.0 +\| 63\.0 +\| 1 +\| 2 +\| 6 +\| lr=0\.003 dropout=0\.1 nuclear-norm\.weight=0\.03 \|$/m,
  );
  expect(text).toContain("## Chosen on PACS, by held-out domain and trial");
  expect(toMarkdown(reportOn())).not.toContain("hyperparameters on PACS");
});

test("the hyperparameters of DomainBed's runs are read by its names", () => {
  const chosen = inFolder((folder) => {
    writeSearch(join(folder, "ours"));
    writeDomainBedRuns(makeReport(readResults([join(folder, "ours")])), join(folder, "theirs"), [join(folder, "ours")]);
    return chosenOf(makeReport(readResults([join(folder, "theirs")])).outcome);
  });
  const cell = chosen.find(({ title, domain, trial }) => title === "ERM" && domain === "sketch" && trial === 0)!;
  expect(cell.hparams).toMatchObject({ lr: 0.001, resnet_dropout: 0.5 });
  expect([cell.draw, cell.step]).toEqual([1, 100]);
});
